"""Predictions about interventions on constructed records: which side of a bound the runs lie on, and what that says."""

import re
from pathlib import Path

import pytest
import yaml

from maskprior import paths
from maskprior.analysis import explanations
from maskprior.analysis.explanations import (
    FAILS,
    HOLDS,
    NOT_TESTED,
    OPEN,
    REFUTED,
    SURVIVES,
    Group,
    Prediction,
    judge,
    read_groups,
)
from maskprior.analysis.interventions import load_tasks
from maskprior.config.settings import read_settings
from maskprior.errors import UserError
from maskprior.report import explanations_table
from tests.constructed_runs import WriteRun

AT_LEAST = {"cell": "mask+sgd", "level": "map", "of": "kept", "at_least": 0.5}
BELOW = {"cell": "mask+sgd", "level": "map", "of": "kept", "below": 0.5}
GIVES_BACK = {"cell": "structured_svd+sgd", "level": "map", "of": "lost", "at_least": 0.5}


def groups(*predictions: dict[str, object]) -> list[Group]:
    explanation = {"id": "tried", "explanation": "It is 50 % luck.", "predictions": list(predictions)}
    cells = ["mask+sgd", "mask+additive", "structured_svd+sgd"]
    return [Group.model_validate({"group": "Optimiser", "cells": cells, "explanations": [explanation]})]


def judged(*predictions: dict[str, object], scale: str = "reduced") -> explanations.Judged:
    (found,) = judge(groups(*predictions), load_tasks(read_settings({"scale": scale}))["2parity"])
    return found


@pytest.fixture
def write_cell(project: Path, write_run: WriteRun) -> WriteRun:
    def write(cell: str, *ends: float, **options: object) -> None:
        """One seed for each of the strengths that are left of 1."""
        for seed, end in enumerate(ends):
            write_run("2parity", cell, seed, {}, **({"strength": (1.0, 0.9, 0.5, end)} | options))

    return write


@pytest.mark.parametrize(
    ("low", "high", "at_least", "below"),
    [(0.6, 0.9, HOLDS, FAILS), (0.5, 0.9, HOLDS, FAILS), (0.1, 0.4, FAILS, HOLDS), (0.1, 0.5, OPEN, OPEN)],
)
def test_a_prediction_holds_on_its_side_and_fails_on_the_other(
    low: float, high: float, at_least: str, below: str
) -> None:
    assert Prediction.model_validate(AT_LEAST).test(low, high) == at_least
    assert Prediction.model_validate(BELOW).test(low, high) == below


def test_nothing_is_tested_before_anything_ran(project: Path) -> None:
    found = judged(AT_LEAST, BELOW)
    assert [tested.outcome for tested in found.tested] == [NOT_TESTED, NOT_TESTED]
    assert found.verdict == NOT_TESTED


def test_the_interval_decides_and_not_the_mean(write_cell: WriteRun) -> None:
    write_cell("mask", 1.0, 1.0, 1.0)
    write_cell("mask+sgd", 0.1, 0.2, 0.15)
    assert judged(BELOW).tested[0].outcome == HOLDS
    assert judged(AT_LEAST).verdict == REFUTED
    # mean 0.4, s = 0.436, t(0.975, 2) = 4.303: from -0.68 to 1.48
    write_cell("mask+additive", 0.1, 0.2, 0.9)
    found = judged({"cell": "mask+additive", "level": "map", "of": "kept", "below": 0.5})
    assert found.tested[0].share.mean == pytest.approx(0.4)
    assert (found.tested[0].outcome, found.verdict) == (OPEN, OPEN)


def test_a_prediction_is_relative_to_what_the_baseline_keeps(write_cell: WriteRun) -> None:
    # 0.45 of the start is less than a half, and almost all of the 0.5 that the mask keeps without the change
    write_cell("mask", 0.50, 0.52, 0.48)
    write_cell("mask+sgd", 0.45, 0.47, 0.44)
    (tested,) = judged(BELOW).tested
    assert tested.share.mean == pytest.approx((0.45 / 0.50 + 0.47 / 0.52 + 0.44 / 0.48) / 3, abs=1e-6)
    assert tested.outcome == FAILS


def test_what_a_change_gives_back_is_a_share_of_what_the_baseline_loses(write_cell: WriteRun) -> None:
    write_cell("structured_svd", 0.2, 0.2, 0.2)
    write_cell("structured_svd+sgd", 0.8, 0.8, 0.8)
    (tested,) = judged(GIVES_BACK).tested
    assert (tested.share.mean, tested.outcome) == (pytest.approx(0.75), HOLDS)


def test_where_the_baseline_leaves_nothing_to_explain_nothing_is_tested(write_cell: WriteRun) -> None:
    write_cell("structured_svd", 0.9, 0.9, 0.9)  # it has lost a tenth
    write_cell("structured_svd+sgd", 1.0, 1.0, 1.0)
    write_cell("mask", 0.1, 0.1, 0.1)  # it has kept a tenth
    write_cell("mask+sgd", 0.0, 0.0, 0.0)
    found = judged(GIVES_BACK, BELOW)
    assert [tested.outcome for tested in found.tested] == [NOT_TESTED, NOT_TESTED]
    assert found.tested[0].why == "the baseline has lost nothing to speak of"
    assert found.verdict == NOT_TESTED


def test_without_a_baseline_nothing_is_tested(write_cell: WriteRun) -> None:
    write_cell("mask+sgd", 0.1, 0.1, 0.1)
    assert judged(BELOW).verdict == NOT_TESTED


@pytest.mark.parametrize("n", [1, 2])
def test_few_seeds_decide_nothing(write_cell: WriteRun, n: int) -> None:
    write_cell("mask", *[1.0] * n)
    write_cell("mask+sgd", *[0.1] * n)
    assert judged(BELOW).tested[0].outcome == OPEN
    assert judged(AT_LEAST).tested[0].outcome == OPEN


def test_one_failed_prediction_refutes_and_two_that_hold_survive(write_cell: WriteRun) -> None:
    write_cell("mask", 1.0, 1.0, 1.0)
    write_cell("mask+sgd", 1.0, 1.0, 1.0, function=(0.0, 0.0, 1.0, 0.2))
    write_cell("mask+additive", 1.0, 1.0, 1.0, map_alignment=(1.0, 1.0, 1.0, 0.25))
    first = {"cell": "mask+sgd", "level": "function", "of": "kept", "below": 0.5}
    second = {"cell": "mask+additive", "level": "parameter", "of": "kept", "below": 0.5}
    fails = {"cell": "mask+additive", "level": "parameter", "of": "kept", "at_least": 0.5}
    assert judged(first).verdict == OPEN  # a single prediction
    assert judged(first, AT_LEAST).verdict == OPEN  # two of one cell
    assert judged(first, second).verdict == SURVIVES
    assert judged(first, second, AT_LEAST).verdict == SURVIVES
    assert judged(first, fails, AT_LEAST).verdict == REFUTED
    together = {"confound": "decay"}
    assert judged(first | together, second | together).verdict == OPEN  # what they share may do it


def test_a_prior_that_never_was_and_a_diverged_run_decide_nothing(write_cell: WriteRun, write_run: WriteRun) -> None:
    write_cell("mask", 1.0, 1.0, 1.0)
    write_cell("mask+additive", 0.0, 0.0, 0.0, strength=(0.2, 0.2, 0.2, 0.0))
    write_cell("mask+sgd", 0.1, 0.1)
    write_run("2parity", "mask+sgd", 2, {}, diverged=True)
    (tested,) = judged({"cell": "mask+additive", "level": "map", "of": "kept", "below": 0.5}).tested
    assert (tested.outcome, tested.left.n) == (OPEN, 0)
    (tested,) = judged(BELOW).tested
    assert (tested.outcome, tested.left.n, tested.left.diverged) == (OPEN, 2, 1)


def test_smoke_runs_prove_nothing(project: Path, write_run: WriteRun) -> None:
    write_run("2parity", "mask+sgd", 0, {}, scale="smoke")
    assert judged(AT_LEAST, scale="smoke").verdict == NOT_TESTED


def test_what_a_task_does_not_run_is_left_out(project: Path) -> None:
    found = judge(groups(AT_LEAST, BELOW), {"mask+additive": []})
    assert found == []


def test_table_and_numbers(write_cell: WriteRun) -> None:
    write_cell("mask", 1.0, 1.0, 1.0)
    write_cell("mask+sgd", 0.25, 0.25, 0.25)
    found = judged(BELOW, AT_LEAST)
    table = explanations_table.explanations_latex([found])
    assert r"It is 50 \% luck." in table
    assert r"& \textbf{refuted} \\" in table
    row = (
        r"\quad & Mask, SGD & map & $< 0.5$ of what is kept & 0.25 \ci{0.25}{0.25} & 0.25 & 1.00 & 3/5"
        r" & \outcome{holds} holds \\"
    )
    assert row in table.splitlines()
    frame = explanations_table.explanations_frame("2parity", [found])
    assert frame["outcome"].tolist() == [HOLDS, FAILS]
    assert frame["share"].tolist() == pytest.approx([0.25, 0.25])


def test_the_explanations_are_of_planned_cells(project: Path) -> None:
    cells = {cell for group in read_groups() for cell in group.cells}
    assert {cell for by_cell in load_tasks(read_settings()).values() for cell in by_cell} == cells


@pytest.mark.parametrize("task", ["2parity", "addition"])
def test_the_text_says_what_the_evidence_says(task: str) -> None:
    """A sentence is written for a verdict; the published records of this repository must give that verdict."""
    text = "\n".join(path.read_text() for path in sorted((paths.root() / "paper" / "sections").glob("*.tex")))
    written = set(re.findall(rf"\\finding\{{explanation/{task}/([^}}]*)\}}\{{([^}}]*)\}}", text))
    cells = load_tasks(read_settings())[task]
    judged = judge(read_groups(), cells)
    assert {name for name, _ in written} == {found.explanation.id for found in judged}
    if not all(entry.source == "published" for entries in cells.values() for entry in entries):
        pytest.skip("not every record of the interventions is published here")
    assert written == {(found.explanation.id, found.verdict) for found in judged}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("at_least: 0.9}", "least: 0.9}", "config/interventions.yaml: 2.explanations.0.predictions.0.least: extra"),
        ("at_least: 0.9}", "at_least: 0.9, below: 1.5}", "less than 1"),
        ("at_least: 0.9}", "at_least: 0.9, below: 0.5}", "mask+mask_decay0: parameter: give either at_least or below"),
        ("cell: mask+mask_decay0", "cell: mask", "mask: changes nothing, so it has no baseline"),
        ("id: place", "id: speed", "config/interventions.yaml: speed occurs more than once"),
        ("cells: [mask+mask_decay0]", "cells: [mask+sgd]", "mask+sgd occurs more than once"),
        ("cell: mask+mask_decay0", "cell: mask+decay", "decay: mask+decay is in no group's cells"),
    ],
)
def test_a_wrong_file_is_one_line(project: Path, old: str, new: str, message: str) -> None:
    path = project / "config" / "interventions.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(UserError) as error:
        read_groups()
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    yaml.safe_load(path.read_text())


def test_another_method_can_be_the_baseline(write_cell: WriteRun, project: Path) -> None:
    """The share that mask+sgd gives back of what structured_svd loses: (0.75 - 0.5) / (1 - 0.5)."""
    write_cell("structured_svd", 0.5, 0.5, 0.5)
    write_cell("mask+sgd", 0.75, 0.75, 0.75)
    write_cell("mask", 0.1, 0.1, 0.1)
    found = judged({"cell": "mask+sgd", "baseline": "structured_svd", "level": "map", "of": "lost", "at_least": 0.4})
    assert found.tested[0].baseline.mean == pytest.approx(0.5)
    assert found.tested[0].share.mean == pytest.approx(0.5)
    assert found.tested[0].outcome == HOLDS
