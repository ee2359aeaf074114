"""Table 2, its figures and the calibration on constructed records."""

import math
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import yaml

from maskprior.analysis import calibration, claims
from maskprior.analysis.aggregate import paired_difference
from maskprior.analysis.calibration import distance, published
from maskprior.analysis.records import load_beside, load_shown, load_target
from maskprior.config.settings import Settings, read_settings
from maskprior.report import arithmetic_figures, arithmetic_table, calibration_table, figures
from maskprior.report.macros import macros
from maskprior.report.output import difference_text
from maskprior.runs.spec import make_run, resolve
from tests.constructed_runs import WriteRun

METRICS = {"sequence_accuracy": 3.0, "digit_accuracy": 50.0, "test_loss": 2.0}


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    with plt.rc_context():
        figures.use_style()
        yield
    plt.close("all")


@pytest.fixture
def settings(project: Path) -> Settings:
    """Table 2 planned at every scale, the sweep at all but the smallest."""
    both = {"scales": ["reduced", "paper"]}
    plan(project, table2={}, figure4_addition=both, figure4_multiplication=both)
    return read_settings({"seeds": 2})


def plan(project: Path, **targets: dict[str, list[str]]) -> None:
    """Plan these targets of arithmetic at other scales than the project does."""
    path = project / "config" / "experiments" / "arithmetic.yaml"
    file = yaml.safe_load(path.read_text())
    for name, scales in targets.items():
        kept = {key: value for key, value in file["targets"][name].items() if key in ("methods", "tasks")}
        file["targets"][name] = kept | scales
    path.write_text(yaml.safe_dump(file, sort_keys=False))


def sampled(sequence: float, digit: float, loss: float) -> dict[str, float]:
    return {"sample_sequence_accuracy": sequence, "sample_digit_accuracy": digit, "sample_loss": loss}


# --- Table 2


def body(settings: Settings) -> list[str]:
    latex = arithmetic_table.arithmetic_latex(arithmetic_table.arithmetic_rows(settings, claims.evaluate(settings)))
    lines = latex.splitlines()
    return [line.removesuffix(r" \\") for line in lines[lines.index(r"\midrule") + 1 :]]


def table(settings: Settings) -> list[list[str]]:
    """The cells of the table's body, without the headings."""
    return [line.split(" & ") for line in body(settings) if " & " in line]


def test_without_records_every_cell_says_so(settings: Settings) -> None:
    rows = table(settings)
    assert len(rows) == 18
    assert rows[0][:4] == ["Default", "1.19", "40.59", "4.51"]
    assert rows[0][4:] == ["reduced", "--", "--", "--", "", "--", "0/2", "", "", "", *[""] * 3]
    assert rows[8][:4] == ["Mask, fixed", "--", "--", "--"]


def test_each_task_has_a_heading_with_the_share_it_is_trained_on(settings: Settings) -> None:
    lines = body(settings)
    headings = {n: line for n, line in enumerate(lines) if line.startswith(r"\multicolumn")}
    assert list(headings) == [0, 11]  # nine methods and a rule apart
    assert headings[0] == r"\multicolumn{17}{@{}l}{\emph{Addition} {\color{quiet}trained on 0.4\,\%}}"
    assert headings[11] == r"\multicolumn{17}{@{}l}{\emph{Multiplication} {\color{quiet}trained on 3\,\%}}"


def test_a_method_stands_there_once_with_a_line_per_scale(settings: Settings, write_run: WriteRun) -> None:
    settings = settings.model_copy(update={"seeds": 3})
    for seed, gain in enumerate((70.0, 71.0, 72.0)):
        write_run("addition", "default", seed, METRICS, scale="paper")
        write_run("addition", "mask", seed, METRICS | {"sequence_accuracy": 3.0 + gain}, scale="paper")
    rows = table(settings)
    assert len(rows) == 20
    assert [row[4] for row in rows[:2]] == ["reduced", "paper"]
    assert rows[1][:4] == [""] * 4
    (mask,) = [row for row in rows if row[8].startswith("+71.00")]
    assert mask[8] == r"+71.00 \ci{68.52}{73.48}"  # 71 +- 4.303 / sqrt 3
    assert mask[5].startswith(r"74.00 \ci{71.4")  # on the logit, a trace wider below than above
    assert mask[10] == "3/3"
    assert mask[11:] == [r"\outcome{agrees}", r"\outcome{differs}", r"\outcome{differs}", *mask[14:]]
    assert mask[14] == r"\outcome{holds}"


def test_a_single_pair_of_seeds_has_no_interval() -> None:
    assert difference_text(paired_difference({0: 5.0}, {0: 3.0}), "digit_accuracy") == "+2.00"
    assert difference_text(paired_difference({0: 5.0}, {1: 3.0}), "digit_accuracy") == "--"


def test_table_as_numbers(settings: Settings, write_run: WriteRun) -> None:
    write_run("multiplication", "default", 0, METRICS)
    rows = arithmetic_table.arithmetic_rows(settings, claims.evaluate(settings))
    frame = arithmetic_table.arithmetic_frame(rows).set_index(["task", "method", "scale", "metric"])
    cell = frame.loc[("multiplication", "default", "reduced", "test_loss")]
    assert (cell["mean"], cell["seeds"], cell["seeds_planned"], cell["published"]) == (2.0, 1, 2, "2.27")
    assert cell["train_fraction"] == 0.03
    assert math.isnan(cell["difference"])


# --- figures


def test_shown_is_the_papers_scale_once_it_has_a_record(settings: Settings, write_run: WriteRun) -> None:
    assert load_shown("table2", settings)[0].run.scale == "reduced"
    write_run("multiplication", "mask", 1, METRICS, scale="paper")
    assert {entry.run.scale for entry in load_shown("table2", settings)} == {"paper"}


def test_a_target_that_is_planned_only_at_the_papers_scale_stands_there(settings: Settings, project: Path) -> None:
    plan(project, table2={"scales": ["paper"]}, figure4_addition={"scales": ["paper"]})
    assert [row[4] for row in table(settings)] == ["paper"] * 18
    shown = load_shown("table2", settings)
    assert {(entry.run.scale, entry.source) for entry in shown} == {("paper", "missing")}
    assert len(arithmetic_figures.errors(shown, ("default", "mask")).axes) == 3
    at_paper = load_target("all", settings.model_copy(update={"scale": "paper"}))
    found = macros(load_target("all", settings), claims.evaluate(settings), settings, at_paper=at_paper)
    assert found["arithmetic/addition/mask/sequence_accuracy/value"] == "--"
    assert found["difference/arithmetic/addition/mask/sequence_accuracy/mean"] == "--"
    assert found["config/arithmetic/addition/mask/model.dim"] == "128"
    assert found["records/all"] == str(len(load_target("all", settings)))


def test_errors_by_carries_and_digits(settings: Settings, write_run: WriteRun) -> None:
    for seed in range(2):
        arrays = {
            "digit_accuracy": np.array([100, 90, 80, 70 + 2 * seed], dtype=np.float32),
            "sequence_accuracy_by_carries": np.array([50, 40, 30, np.nan], dtype=np.float32),
        }
        write_run("addition", "mask", seed, METRICS, more_arrays=arrays)
    entries = load_target("table2", settings)
    frame = arithmetic_figures.errors_frame(entries).set_index(["array", "place"])
    assert frame.loc[("digit_accuracy", "10^3")]["mean"] == 100
    assert frame.loc[("digit_accuracy", "10^0")]["mean"] == 71
    assert list(frame.loc["sequence_accuracy_by_carries"]["n"]) == [2, 2, 2, 0]
    figure = arithmetic_figures.errors(entries, ("default", "mask"))
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == "Mask"]
    assert np.asarray(line.get_ydata()).tolist() == [50, 40, 30]
    assert [text.get_text() for text in figure.axes[2].texts] == ["not run"]


def test_sweep_has_the_plain_cells_among_the_fractions(settings: Settings, write_run: WriteRun) -> None:
    write_run("addition", "mask", 0, METRICS | {"sequence_accuracy": 40.0})
    write_run("addition", "mask+fraction0.2pct", 0, METRICS | {"sequence_accuracy": 20.0})
    write_run("addition", "mask+fraction10pct", 0, METRICS | {"sequence_accuracy": 99.0})
    entries = load_target("figure4_addition", settings) + load_target("figure4_multiplication", settings)
    mask = arithmetic_figures.sweep(entries, "addition", "reduced")["mask"]
    assert list(mask) == [0.001, 0.002, 0.004, 0.01, 0.02, 0.05, 0.1]
    figure = arithmetic_figures.fractions(entries)
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == "Mask"]
    assert np.asarray(line.get_xdata()) == pytest.approx([0.2, 0.4, 10])
    assert np.asarray(line.get_ydata()).tolist() == [20, 40, 99]
    assert [text.get_text() for text in figure.axes[1].texts] == ["not run"]
    frame = arithmetic_figures.fractions_frame(entries)
    assert len(frame) == (7 + 6) * 2 * 3


def test_the_papers_scale_stands_beside_the_sweep(settings: Settings, write_run: WriteRun) -> None:
    write_run("addition", "mask", 0, METRICS | {"sequence_accuracy": 40.0})
    write_run("addition", "mask", 1, METRICS | {"sequence_accuracy": 95.0}, scale="paper")
    entries = load_beside("figure4_addition", settings)
    frame = arithmetic_figures.fractions_frame(entries).query("scale == 'paper' and metric == 'sequence_accuracy'")
    assert frame[["method", "train_fraction", "mean", "n", "planned"]].values.tolist() == [["mask", 0.004, 95, 1, 2]]
    figure = arithmetic_figures.fractions(entries)
    assert figure.axes[0].get_title() == "Addition (scale: reduced; diamonds: paper)"
    found = {line.get_marker(): np.asarray(line.get_ydata()).tolist() for line in figure.axes[0].lines}
    assert found == {"o": [40.0], "D": [95.0]}
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["Mask"]
    (handle,) = legend.get_lines()
    assert handle.get_marker() == "o"
    at_paper = settings.model_copy(update={"scale": "paper"})
    assert load_beside("figure4_addition", at_paper) == load_target("figure4_addition", at_paper)


def test_a_scale_without_a_sweep_has_an_empty_figure(settings: Settings) -> None:
    entries = load_target("figure4_addition", read_settings({"scale": "smoke"}))
    assert entries == []
    assert len(arithmetic_figures.fractions(entries).axes) == 4
    assert arithmetic_figures.fractions_frame(entries).empty


# --- calibration


def test_distance_by_hand() -> None:
    theirs = {"sequence_accuracy": 1.0, "digit_accuracy": 40.0, "test_loss": 4.0}
    assert distance(theirs, theirs) == 0
    ours = {"sequence_accuracy": 31.0, "digit_accuracy": 80.0, "test_loss": 4.0 * math.exp(1.2)}
    assert distance(ours, theirs) == pytest.approx(1.3)  # 0.3, 0.4, 1.2
    assert distance(ours | {"test_loss": 0.0}, theirs) == math.inf


def test_published_default_rows(project: Path) -> None:
    assert published("addition") == {"sequence_accuracy": 1.19, "digit_accuracy": 40.59, "test_loss": 4.51}
    assert published("multiplication") == {"sequence_accuracy": 5.01, "digit_accuracy": 70.78, "test_loss": 2.27}


def test_every_candidate_is_listed_before_any_ran(settings: Settings) -> None:
    found = calibration.calibration(settings)
    assert len({(c.reading, c.choice) for c in found.candidates}) == 21
    assert found.frozen == "token_e1_p002"
    assert (found.measured, found.nearest, found.state) == (0, None, "open")
    assert calibration_table.calibration_latex(found).count("--") >= 21 * 11
    assert dict(calibration_table.calibration_macros(found))["calibration/nearest"] == "--"


def write_additions(write_run: WriteRun, settings: Settings, nearest: str) -> list[str]:
    """Every candidate's Default on addition: `nearest` at distance 0.1, each other one farther by one."""
    names = [candidate.name for candidate in calibration.calibration(settings).candidates]
    ranked = [nearest, *(name for name in names if name != nearest)]
    for rank, name in enumerate(ranked):
        write_run("addition", f"default+{name}", 0, sampled(1.19, 40.59, 4.51 * math.exp(-rank - 0.1)), scale="paper")
    return ranked


def test_the_smallest_sum_of_both_tasks_decides_and_the_mask_does_not(settings: Settings, write_run: WriteRun) -> None:
    names = write_additions(write_run, settings, "token_e1_p002")
    # the published mask row, at the candidate farthest from Default's
    write_run("addition", f"mask+{names[-1]}", 0, sampled(77.49, 93.86, 0.23), scale="paper")
    assert calibration.calibration(settings).state == "open"  # no candidate ran on multiplication
    write_run("multiplication", "default", 0, sampled(5.01, 70.78, 2.27 * math.exp(0.3)), scale="paper")
    found = calibration.calibration(settings)
    assert found.measured == 21
    assert found.nearest is not None
    assert (found.nearest.name, found.nearest.total) == ("token_e1_p002", pytest.approx(0.4))
    assert found.state == "decided"
    frame = calibration_table.calibration_frame(found).set_index("candidate")
    assert list(frame.index[frame["nearest"]]) == ["token_e1_p002"]
    assert frame.loc[names[-1]]["mask_sequence_accuracy"] == 77.49
    assert calibration_table.calibration_latex(found).count(r"\textbf{0.400}") == 1


def test_it_is_open_while_a_candidate_can_still_be_the_nearest(settings: Settings, write_run: WriteRun) -> None:
    """pool is at 0.1 on addition and did not run on multiplication; the configured one's sum is 1.1 + 0.3."""
    write_additions(write_run, settings, "pool_e1_p002")
    write_run("addition", "default+token_e1_p002", 0, sampled(1.19, 40.59, 4.51 * math.exp(1.1)), scale="paper")
    write_run("multiplication", "default", 0, sampled(5.01, 70.78, 2.27 * math.exp(0.3)), scale="paper")
    assert calibration.calibration(settings).state == "open"
    write_run("multiplication", "default+pool", 0, sampled(5.01, 70.78, 2.27 * math.exp(0.5)), scale="paper")
    found = calibration.calibration(settings)
    assert found.nearest is not None
    assert (found.nearest.name, found.nearest.total) == ("pool_e1_p002", pytest.approx(0.6))
    assert found.state == "contradicted"


def test_a_diverged_candidate_ran_and_cannot_be_chosen(settings: Settings, write_run: WriteRun) -> None:
    name = calibration.calibration(settings).candidates[0].name
    write_run("addition", f"default+{name}", 0, {}, scale="paper", diverged=True)
    found = calibration.calibration(settings)
    assert (found.measured, found.nearest) == (1, None)
    assert "diverged" in calibration_table.calibration_latex(found)


def test_the_configuration_has_the_same_choice_for_both_tasks_and_all_methods(project: Path) -> None:
    chosen = {
        calibration._choice(resolve(make_run("arithmetic", task, method, scale="paper")))
        for task in ("addition", "multiplication")
        for method in ("default", "structured_svd", "structured_opt", "mask", "mask_zero", "mask_fixed")
    }
    assert len(chosen) == 1
