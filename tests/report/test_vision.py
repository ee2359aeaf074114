"""Tables 3 and 5, Figures 9 to 14 and the table of V and Proj on constructed records, and without any."""

from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import yaml

from maskprior.analysis import claims, claims_file
from maskprior.analysis.decide import CONTRADICTED, HOLDS
from maskprior.analysis.records import load_target
from maskprior.analysis.value_init import load_tasks, prior_effect, value_effect
from maskprior.config.settings import Settings, read_settings
from maskprior.report import figures, vision_figures
from maskprior.report.value_init_table import value_init_frame, value_init_latex
from maskprior.report.vision_table import note, subset, vision_frame, vision_latex, vision_rows
from tests.constructed_runs import STEPS, WriteRun


@pytest.fixture
def settings(project: Path) -> Settings:
    """Three seeds of every target, planned at every scale."""
    path = project / "config" / "experiments" / "vision.yaml"
    file = yaml.safe_load(path.read_text())
    for target in file["targets"].values():
        del target["seeds"]
    path.write_text(yaml.safe_dump(file, sort_keys=False))
    return read_settings({"seeds": 3})


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    with plt.rc_context():
        figures.use_style()
        yield
    plt.close("all")


def write(write_run: WriteRun, method: str, seed: int, best: float, *, task: str = "cifar10") -> None:
    tokens, steps = 65, len(STEPS)
    masks = {"mask_open": 9.0, "mask_closed": -8.0, "mask_open_decay_only": 9.5, "mask_closed_decay_only": -9.5}
    write_run(
        task,
        method,
        seed,
        {"best_top1": best, "last_top1": best - 1, **(masks if method == "mask" else {})},
        more_arrays={
            "trace/test_top1": np.linspace(10 + seed, best, steps, dtype=np.float32),
            "maps/attention_first_image": np.full((3, 3, tokens, tokens), 1 / tokens, dtype=np.float16),
            "maps/mask_final": np.full((3, 3, tokens, tokens), 9, dtype=np.float16),
        },
    )


@pytest.fixture
def written(settings: Settings, write_run: WriteRun) -> Settings:
    for seed in range(3):
        write(write_run, "default", seed, 40.0 + seed)
        write(write_run, "mask", seed, 43.0 + 2 * seed)
    return settings


def test_a_cell_has_its_difference_to_default_paired_by_seed(written: Settings) -> None:
    """Default 40, 41, 42; mask 43, 45, 47: differences 3, 4 and 5."""
    rows = vision_rows("T3", written, claims.evaluate(written))
    frame = vision_frame(rows).set_index(["task", "method", "metric"])
    mask = frame.loc["cifar10", "mask", "best_top1"]
    assert (mask["published"], mask["n"], mask["planned"], mask["dataset"]) == ("95.66", 3, 3, "cifar10-10pct")
    assert (mask["mean"], mask["difference"], mask["direction"]) == (45.0, 4.0, "holds")
    assert frame.loc["cifar10", "mask", "last_top1"]["mean"] == 44.0
    line = next(line for line in vision_latex(rows).splitlines() if line.startswith(" & Mask &"))
    half = 4.302653 / 3**0.5  # t(0.975, 2) times the standard error of 3, 4 and 5
    assert line.startswith(" & Mask & 95.66 & 45.00 ")
    assert line.endswith(rf"+4.00 \ci{{{4 - half:.2f}}}{{{4 + half:.2f}}} & 3/3 &  & \outcome{{holds}} \\")


def test_other_images_than_the_papers_are_named(written: Settings) -> None:
    rows = vision_rows("T5", written, [])
    assert {subset(row) for row in rows} == {
        "cifar10-10pct, 32 px", "cifar100-10pct, 32 px", "imagenet100-14class-32px, 32 px"
    }  # fmt: skip
    assert vision_latex(rows).count("cifar10-10pct, 32 px") == 1
    assert "the order of the methods is compared, and no number.}" in note(rows, written)
    paper = written.model_copy(update={"scale": "paper"})
    rows = vision_rows("T5", paper, [])
    assert {subset(row) for row in rows} == {None}
    assert "order" not in note(rows, paper)


@pytest.mark.parametrize(("table", "methods"), [("T3", 4), ("T5", 3)])
def test_without_records_every_cell_says_so(settings: Settings, table: str, methods: int) -> None:
    rows = vision_rows(table, settings, claims.evaluate(settings))
    lines = vision_latex(rows).splitlines()
    assert len(rows) == 3 * methods
    assert sum("& 0/3 & " in line for line in lines) == 3 * methods
    assert sum(r"\outcome{not tested}" in line for line in lines) == 3 * (methods - 1)  # Default has no direction
    assert sum("& -- & -- &" in line for line in lines) == 3 * methods
    assert vision_frame(rows)["mean"].isna().all()


def test_every_number_of_tables_3_and_5_is_a_claim_on_a_metric_of_the_records(settings: Settings) -> None:
    numbers = [c.reported for c in claims_file.read_claims() if c.experiment == "vision" and c.reported]
    assert {(r.table, r.metric) for r in numbers} == {("T3", "best_top1"), ("T5", "best_top1")}
    assert len(numbers) == 12 + 15


def test_the_order_of_methods_is_judged_at_the_reduced_scale(settings: Settings, write_run: WriteRun) -> None:
    for task in vision_figures.TASKS:
        for seed in range(3):
            for method, best in (("default", 40), ("mimetic", 41), ("impulse", 43), ("mask", 42), ("mask_fixed", 39)):
                write(write_run, method, seed, best + 0.1 * seed, task=task)
    chosen = {c.id: c for c in claims_file.read_claims() if c.experiment == "vision"}
    found = {j.claim.id: j.direction for j in claims.evaluate(settings, list(chosen.values())) if j.scale == "reduced"}
    assert found["vision-mask-beats-default"] == HOLDS
    assert found["vision-mask-beats-query-key"] == CONTRADICTED
    assert found["vision-training-the-mask-helps"] == CONTRADICTED  # not below the fixed one on CIFAR-100
    assert found["T3-vision-cifar10-mask-best_top1"] == HOLDS
    assert found["vision-mask-persists-in-the-map"] == HOLDS


def test_a_scale_at_which_nothing_is_planned_has_tables_and_figures_that_say_so(project: Path) -> None:
    path = project / "config" / "experiments" / "vision.yaml"
    path.write_text(path.read_text().partition("targets:")[0] + "targets: {}\n")
    assert r"\multicolumn{9}{c}{not run at this scale}" in vision_latex([])
    assert len(vision_frame([])) == 0
    for draw in DRAW.values():
        draw([])


DRAW = {
    "figure10": lambda entries: vision_figures.learned_masks(entries, "cifar10", "reduced"),
    "figure11": lambda entries: vision_figures.attention_maps(entries, "cifar10", "reduced"),
    "figure14": lambda entries: vision_figures.vision_curves(entries, ("cifar10",)),
}


@pytest.mark.parametrize("name", DRAW)
def test_same_records_same_bytes(written: Settings, name: str) -> None:
    entries = load_target("table3", written)
    written_bytes = []
    for _ in range(2):
        figures.save(DRAW[name](entries), name)
        written_bytes.append(figures.generated(name).with_suffix(".pdf").read_bytes())
    assert written_bytes[0] == written_bytes[1]


def test_curves_are_means_over_epochs(written: Settings) -> None:
    """Step 60 of 39 an epoch; the seeds of Default end at 40, 41 and 42."""
    figure = vision_figures.vision_curves(load_target("table3", written), ("cifar10",), ("default",))
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == "Default"]
    assert np.asarray(line.get_xdata()) == pytest.approx(STEPS / 39)
    assert np.asarray(line.get_ydata())[[0, -1]] == pytest.approx([11, 41], rel=1e-3)


def test_m_stands_beside_what_decay_alone_leaves(written: Settings) -> None:
    figure = vision_figures.learned_masks(load_target("table3", written), "cifar10", "reduced")
    panel = next(ax for ax in figure.axes if ax.get_xlabel() == "mean M after training")
    points = {(line.get_label(), float(np.ravel(line.get_xdata())[0])) for line in panel.lines}
    assert {("open entries", 9.0), ("closed entries", -8.0), ("decay alone", 9.5), ("decay alone", -9.5)} <= points
    (image,) = figure.axes[0].images
    assert float(image.get_array().max()) == pytest.approx(-np.log1p(np.exp(-9)))


@pytest.mark.parametrize("name", DRAW)
def test_missing_records_are_said_in_the_figure(settings: Settings, name: str) -> None:
    figure = DRAW[name](load_target("table3", settings))
    told = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert told.count("no\nrecord") == {"figure10": 9, "figure11": 45, "figure14": 0}[name]


def test_the_heads_of_the_configuration_are_named_in_figure_9() -> None:
    titles = [ax.get_title() for ax in vision_figures.impulse_patterns("centre_first", 3).axes]
    assert [title.split("\n")[0] for title in titles][:3] == ["(−1, −1)", "(−1, 0)", "(−1, 1)"]
    assert [title for title in titles if "head" in title] == ["(−1, 0)\nhead 2", "(0, 0)\nhead 1", "(0, 1)\nhead 3"]


def test_a_prior_is_compared_with_default_of_the_same_values(settings: Settings, write_run: WriteRun) -> None:
    """Values as Mimetic's add 5, 6, 7, the mask adds 1, 2, 3 to either Default: 40, 41, 42; 41, 43, 45; …"""
    bests = {
        "default": (40.0, 41.0, 42.0), "mask": (41.0, 43.0, 45.0), "default+vproj_mimetic": (45.0, 47.0, 49.0),
        "mask+vproj_mimetic": (46.0, 49.0, 52.0), "impulse": (47.0,), "default+position18": (42.0,),
    }  # fmt: skip
    for method, values in bests.items():
        for seed, best in enumerate(values):
            write(write_run, method, seed, best)
    tasks = load_tasks(settings)
    assert {task: len(design) for task, design in tasks.items()} == {"cifar10": 9}
    design = tasks["cifar10"]
    for vproj in ("default", "mimetic"):
        assert prior_effect(design, "mask", vproj).values == (1.0, 2.0, 3.0)
    assert value_effect(design, "mask").values == (5.0, 6.0, 7.0)
    assert prior_effect(design, "impulse", "mimetic").values == (2.0,)  # impulse itself has Mimetic's values
    lines = {line.split(" & ")[1]: line for line in value_init_latex(tasks).splitlines() if line.count(" & ") == 7}
    assert list(lines)[1:] == ["Default", "Default, positions scaled", "Mimetic", "Impulse", "Mask"]
    assert lines["Impulse"] == r" & Impulse & -- & -- & 47.00 & +2.00 & -- & 0/3 \\"
    assert lines["Default, positions scaled"] == r" & Default, positions scaled & 42.00 & +2.00 &  &  &  & 1/3 \\"
    assert lines["Mask"].count(" & +2.00 \\ci{") == 2
    assert " & +6.00 \\ci{" in lines["Mask"]
    frame = value_init_frame(tasks).set_index(["prior", "vproj"])
    assert frame.loc["mask", "mimetic"][["mean", "prior_effect", "n", "planned"]].tolist() == [49.0, 2.0, 3, 3]


def test_without_a_plan_the_table_of_values_says_so() -> None:
    assert r"\multicolumn{8}{c}{not run at this scale}" in value_init_latex({})
    assert value_init_frame({}).empty
