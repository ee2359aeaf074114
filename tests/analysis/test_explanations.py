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
    NOT_RUN,
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

AT_LEAST = {"cell": "mask+sgd", "level": "map", "at_least": 0.5}
BELOW = {"cell": "mask+sgd", "level": "map", "below": 0.5}


def groups(*predictions: dict[str, object]) -> list[Group]:
    explanation = {"id": "tried", "explanation": "It is 50 % luck.", "predictions": list(predictions)}
    values = {"group": "Optimiser", "cells": ["mask+sgd", "mask+additive"], "explanations": [explanation]}
    return [Group.model_validate(values)]


def judged(*predictions: dict[str, object], scale: str = "reduced") -> explanations.Judged:
    (found,) = judge(groups(*predictions), load_tasks(read_settings({"scale": scale}))["2parity"])
    return found


@pytest.mark.parametrize(
    ("low", "high", "at_least", "below"),
    [(0.6, 0.9, HOLDS, FAILS), (0.5, 0.9, HOLDS, FAILS), (0.1, 0.4, FAILS, HOLDS), (0.1, 0.5, OPEN, OPEN)],
)
def test_a_prediction_holds_on_its_side_and_fails_on_the_other(
    low: float, high: float, at_least: str, below: str
) -> None:
    assert Prediction.model_validate(AT_LEAST).test(low, high) == at_least
    assert Prediction.model_validate(BELOW).test(low, high) == below


def test_nothing_is_decided_before_anything_ran(project: Path) -> None:
    found = judged(AT_LEAST, BELOW)
    assert [tested.outcome for tested in found.tested] == [NOT_RUN, NOT_RUN]
    assert found.verdict == NOT_RUN


def test_the_interval_decides_and_not_the_mean(project: Path, write_run: WriteRun) -> None:
    for seed, end in enumerate((0.1, 0.2, 0.15)):
        write_run("2parity", "mask+sgd", seed, {}, strength=(1.0, 0.9, 0.5, end))
    assert judged(BELOW).verdict == SURVIVES
    assert judged(AT_LEAST).verdict == REFUTED
    # mean 0.4, s = 0.436, t(0.975, 2) = 4.303: from -0.68 to 1.48
    for seed, end in enumerate((0.1, 0.2, 0.9)):
        write_run("2parity", "mask+additive", seed, {}, strength=(1.0, 0.9, 0.5, end))
    found = judged({"cell": "mask+additive", "level": "map", "below": 0.5})
    assert found.tested[0].left.mean == pytest.approx(0.4)
    assert (found.tested[0].outcome, found.verdict) == (OPEN, OPEN)


def test_two_seeds_must_both_lie_on_the_predicted_side(project: Path, write_run: WriteRun) -> None:
    write_run("2parity", "mask+sgd", 0, {}, strength=(0.8, 0.8, 0.8, 0.6))
    assert judged(AT_LEAST).tested[0].left.mean == pytest.approx(0.75)
    assert judged(AT_LEAST).verdict == SURVIVES
    write_run("2parity", "mask+sgd", 1, {}, strength=(1.0, 0.8, 0.8, 0.4))
    assert judged(AT_LEAST).verdict == OPEN


def test_one_failed_prediction_refutes(project: Path, write_run: WriteRun) -> None:
    for seed in range(3):
        write_run("2parity", "mask+sgd", seed, {}, unseen_accuracy=(0.0, 0.0, 100.0, 20.0))
        write_run("2parity", "mask+additive", seed, {}, map_alignment=(1.0, 1.0, 1.0, 0.25))
    survives = {"cell": "mask+sgd", "level": "function", "below": 0.5}
    fails = {"cell": "mask+additive", "level": "parameter", "at_least": 0.5}
    assert judged(survives).verdict == SURVIVES
    assert judged(survives, AT_LEAST).verdict == SURVIVES
    assert judged(survives, fails, AT_LEAST).verdict == REFUTED


def test_a_prior_that_never_was_and_a_diverged_run_decide_nothing(project: Path, write_run: WriteRun) -> None:
    for seed in range(3):
        write_run("2parity", "mask+additive", seed, {}, strength=(0.2, 0.2, 0.2, 0.0))
        write_run("2parity", "mask+sgd", seed, {}, diverged=seed == 2)
    (tested,) = judged({"cell": "mask+additive", "level": "map", "below": 0.5}).tested
    assert (tested.outcome, tested.left.n) == (OPEN, 0)
    (tested,) = judged(AT_LEAST).tested
    assert (tested.outcome, tested.left.n, tested.left.diverged) == (OPEN, 2, 1)


def test_smoke_runs_prove_nothing(project: Path, write_run: WriteRun) -> None:
    write_run("2parity", "mask+sgd", 0, {}, scale="smoke")
    assert judged(AT_LEAST, scale="smoke").verdict == NOT_RUN


def test_what_a_task_does_not_run_is_left_out(project: Path) -> None:
    found = judge(groups(AT_LEAST, BELOW), {"mask+additive": []})
    assert found == []


def test_table_and_numbers(project: Path, write_run: WriteRun) -> None:
    for seed in range(3):
        write_run("2parity", "mask+sgd", seed, {}, strength=(1.0, 0.9, 0.5, 0.25))
    found = judged(BELOW, AT_LEAST)
    table = explanations_table.explanations_latex([found])
    assert r"It is 50 \% luck." in table
    assert r"& \textbf{refuted} \\" in table
    row = r"\quad & Mask, SGD & map & $< 0.5$ & 0.25 \ci{0.25}{0.25} & 3/5 & \verdict{holds} holds \\"
    assert row in table.splitlines()
    frame = explanations_table.explanations_frame("2parity", [found])
    assert frame["outcome"].tolist() == [HOLDS, FAILS]
    assert frame["left"].tolist() == pytest.approx([0.25, 0.25])


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
        ("at_least: 0.99", "least: 0.99", "config/interventions.yaml: 2.explanations.0.predictions.0.least: extra"),
        ("at_least: 0.99", "at_least: 0.99, below: 1.5", "less than 1"),
        ("at_least: 0.99", "at_least: 0.99, below: 0.5", "mask+mask_decay0: parameter: give either at_least or below"),
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
