"""The interventions' table and figure on constructed records."""

import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from maskprior.analysis import explanations, interventions
from maskprior.analysis.explanations import Group
from maskprior.config.base import OptimizerConfig
from maskprior.config.settings import read_settings
from maskprior.errors import UserError
from maskprior.report import interventions_figure, interventions_table
from maskprior.report.output import method_name
from tests.boolean_runs import smoke
from tests.constructed_runs import WriteRun

GROUPS = [
    Group(group="Methods", cells=["mask", "structured_svd", "mask_zero"]),
    Group(group="Rates & decay", cells=["mask+sgd", "mask+mask_lr10"]),
]


@pytest.fixture
def cells(project: Path, write_run: WriteRun) -> interventions.Cells:
    methods = ["mask+mask_lr10", "mask+sgd", "structured_svd", "mask"]
    plan(project, "boolean", {"interventions": {"tasks": ["2parity"], "methods": methods}})
    for seed in range(3):
        write_run("2parity", "mask", seed, {"test_accuracy": 100.0})
        falling: dict[str, tuple[float, ...]] = {
            "map_alignment": (1.0, 0.8, 0.4, 0.2),
            "strength": (0.8, 0.8, 0.6, 0.4),
        }
        write_run("2parity", "mask+sgd", seed, {"test_accuracy": 75.0}, **falling)
    return interventions.load_tasks(read_settings({"seeds": 3}))["2parity"]


def plan(project: Path, experiment: str, targets: dict[str, object]) -> None:
    path = project / "config" / "experiments" / f"{experiment}.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"targets": targets}, sort_keys=False))


def test_without_the_target_there_is_no_task(project: Path) -> None:
    for experiment in ("boolean", "arithmetic"):
        plan(project, experiment, {"table": {"methods": ["mask"]}})
    assert interventions.load_tasks(read_settings()) == {}


def test_a_task_joins_by_configuration_at_the_scale_it_has(project: Path) -> None:
    target = {"methods": ["mask"], "scales": ["paper"], "tasks": ["addition"]}
    plan(project, "arithmetic", {"interventions": target})
    found = interventions.load_tasks(read_settings({"seeds": 2}))
    assert list(found) == ["2parity", "addition"]
    assert [entry.run.name for entry in found["addition"]["mask"]] == [
        "arithmetic/addition/mask/seed0",
        "arithmetic/addition/mask/seed1",
    ]
    scales = {task: cells["mask"][0].run.scale for task, cells in found.items()}
    assert scales == {"2parity": "reduced", "addition": "paper"}
    groups = explanations.read_groups()
    assert interventions_table.interventions_latex(groups, found["addition"]).count(r" \\") == 5
    names = interventions_table.interventions_frame(found["addition"])["metric"].tolist()
    assert "sequence_accuracy" in names
    text = interventions_table.floats("explanations", {"2parity": "A", "addition": "B"}, found)
    assert text == (
        "\\explanations{2Parity}{2parity}{reduced}{%\nA}\n\n\\explanations{Addition}{addition}{paper}{%\nB}"
    )


def test_the_controls_stand_with_the_interventions(project: Path) -> None:
    plan(project, "boolean", {
        "interventions": {"methods": ["mask"], "tasks": ["2parity"]},
        "controls": {"methods": ["mask+itself"], "tasks": ["2parity"], "seeds": {"reduced": 2}},
    })  # fmt: skip
    found = interventions.load_tasks(read_settings({"seeds": 3}))["2parity"]
    assert {cell: len(entries) for cell, entries in found.items()} == {"mask": 3, "mask+itself": 2}


def test_cells_are_grouped_as_the_file_has_them(cells: interventions.Cells) -> None:
    found = interventions.grouped(GROUPS, cells)
    assert found == {"Methods": ["mask", "structured_svd"], "Rates & decay": ["mask+sgd", "mask+mask_lr10"]}
    with pytest.raises(UserError, match=r"interventions.yaml: cells: mask\+mask_lr10: in no group"):
        interventions.grouped([GROUPS[0], Group(group="SGD", cells=["mask+sgd"])], cells)


def test_table_has_a_row_per_cell_also_for_one_that_has_not_run(cells: interventions.Cells) -> None:
    lines = interventions_table.interventions_latex(GROUPS, cells).splitlines()
    rows = [line.removesuffix(r" \\").split(" & ") for line in lines[7:] if line.count("&") == 10]
    change = r"optimiser adam $\to$ sgd, rate 0.001 $\to$ 0.01"
    accuracy = r"75.00 \ci{75.00}{75.00}"
    assert rows == [
        ["Mask", "", "10.00", "10.00", "1.0", "1.00", "1.00", "1.00", "1.00", r"100.00 \ci{100.00}{100.00}", "3/3"],
        ["Structured (SVD)", "", "--", "--", "", "--", "--", "--", "--", "--", "0/3"],
        ["Mask", change, "10.00", "2.00", "--", "0.80", "0.40", "1.00", "1.00", accuracy, "3/3"],
        ["Mask", r"rate of M, factor 1 $\to$ 10", "--", "--", "10.0", "--", "--", "--", "--", "--", "0/3"],
    ]
    assert r"\multicolumn{11}{@{}l}{\emph{Rates \& decay}} \\" in lines


def test_a_change_is_read_from_the_configuration(project: Path) -> None:
    assert interventions_table.changes("boolean", "2parity", "mask", "reduced") == ""
    assert interventions_table.changes("boolean", "2parity", "mask+amplitude2", "reduced") == "amplitude 10 → 2"
    found = interventions_table.changes("boolean", "2parity", "structured_opt+position18", "reduced")
    assert found == "position scale 1 → 18"


@pytest.mark.parametrize("schedule", ["cosine", "constant"])
@pytest.mark.parametrize("warmup", [0, 7])
def test_reach_is_the_sum_of_the_rates_of_the_schedule(schedule: str, warmup: int) -> None:
    values = smoke().optimizer.model_dump() | {"schedule": schedule, "warmup_steps": warmup, "mask_lr_multiplier": 10}
    config = OptimizerConfig.model_validate(values)
    rates = [10 * config.lr * config.factor(step) for step in range(config.steps)]
    assert interventions.reach(config) == pytest.approx(math.fsum(rates), rel=1e-12)
    assert math.isnan(interventions.reach(OptimizerConfig.model_validate(values | {"name": "sgd"})))


def test_numbers_in_full(cells: interventions.Cells) -> None:
    frame = interventions_table.interventions_frame(cells).set_index(["cell", "metric"])
    assert frame.loc[("mask+sgd", "gap_retention")]["mean"] == pytest.approx(0.2)
    assert frame.loc[("mask+sgd", "strength_retention")]["mean"] == pytest.approx(0.5)
    assert frame.loc[("mask", "function_final")]["mean"] == 1.0
    assert frame.loc[("structured_svd", "strength_final")]["n"] == 0


def test_figure_has_a_line_per_cell_and_group_and_a_panel_per_task_and_level(cells: interventions.Cells) -> None:
    names = ["Methods", "Mask", "Structured (SVD)", "Rates & decay", "Mask, SGD", "Mask, rate of M × 10"]
    figure = interventions_figure.picture(GROUPS, {"2Parity": cells})
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == names
    assert len(figure.axes) == 3
    dots = [line for line in figure.axes[1].lines if line.get_marker() == "o" and line.get_ydata()[0] == 4]
    assert [dot.get_xdata()[0] for dot in dots] == pytest.approx([0.4, 0.8])
    figure = interventions_figure.picture(GROUPS, {"2Parity": cells, "Addition": {"mask": cells["mask"]}})
    assert [ax.get_title().split("\n")[0] for ax in figure.axes] == ["2Parity"] * 3 + ["Addition"] * 3


@pytest.mark.usefixtures("cells")
def test_a_gap_that_grows_stays_in_the_picture(write_run: WriteRun) -> None:
    gap = np.broadcast_to(np.array([2.0, 2.0, 3.0, 4.0], dtype=np.float32)[:, None, None], (4, 4, 3))
    for seed in range(2):
        grows = {"persistence/query_key_gap": gap}
        write_run("2parity", "structured_svd", seed, {"test_accuracy": 75.0}, more_arrays=grows)
    grown = interventions.load_tasks(read_settings({"seeds": 2}))["2parity"]
    parameter = interventions_figure.picture(GROUPS, {"2Parity": grown}).axes[0]
    (dot,) = [
        line.get_xdata()[0] for line in parameter.lines if line.get_ydata()[0] == 2 and len(line.get_xdata()) == 1
    ]
    assert dot == pytest.approx(2.0)
    assert parameter.get_xlim()[1] > 2


def test_macros_name_every_explanation_and_reach(cells: interventions.Cells) -> None:
    prediction = {"cell": "mask+sgd", "level": "parameter", "of": "kept", "below": 0.5}
    explanation = {"id": "slow", "explanation": "It is slow.", "predictions": [prediction]}
    groups = [Group.model_validate(GROUPS[1].model_dump() | {"explanations": [explanation]})]
    judged = {"2parity": explanations.judge(groups, cells)}
    assert interventions_table.interventions_macros(judged, {"2parity": cells}) == {
        "explanation/2parity/slow": "open",
        "reach/boolean/2parity/mask": "1.0",
        "reach/boolean/2parity/mask+mask_lr10": "10.0",
        "reach/boolean/2parity/mask+sgd": "--",
    }


def test_names_of_variants() -> None:
    assert method_name("mask+query_key_frozen") == "Mask, QK frozen"
    assert method_name("mask+something") == "Mask, something"
