"""Verdicts on constructed records: each rule of config/claims.yaml, and what happens at its edge."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from maskprior.analysis import claims
from maskprior.analysis.claims import DIRECTION_ONLY, NOT_REPRODUCED, NOT_RUN, REPRODUCED, Verdict
from maskprior.config.settings import read_settings
from maskprior.errors import UserError
from tests.constructed_runs import WriteRun

LOSS = "T1-boolean-2parity-{}-test_loss"
ACCURACY = "T1-boolean-2parity-{}-test_accuracy"


@pytest.fixture
def write_cell(write_run: WriteRun) -> WriteRun:
    def write(task: str, method: str, metric: str, values: Sequence[float], **options: object) -> None:
        for seed, value in enumerate(values):
            write_run(task, method, seed, {metric: value}, **options)

    return write


def judged(claim: str, *, scale: str = "reduced", seeds: int = 5) -> Verdict:
    settings = read_settings({"scale": scale, "seeds": seeds})
    (verdict,) = claims.evaluate(settings, [c for c in claims.read_claims() if c.id == claim])
    return verdict


def test_every_published_number_is_a_claim(project: Path) -> None:
    found = claims.read_claims()
    numbers = [claim for claim in found if claim.reported]
    assert len(numbers) == 112
    assert len({claim.id for claim in found}) == len(found)
    assert all(claim.why for claim in found)
    # below the paper's scale every number but a Default's outside the Boolean tasks has a direction
    assert all(c.tests for c in numbers if c.reported and (c.reported.method != "default" or c.experiment == "boolean"))


def test_nothing_is_reproduced_before_anything_ran(project: Path) -> None:
    found = claims.evaluate(read_settings())
    assert claims.count(found) == {REPRODUCED: 0, DIRECTION_ONLY: 0, NOT_REPRODUCED: 0, NOT_RUN: len(found)}
    assert found[0].detail == "no record of boolean/2parity/default"


def test_direction_is_the_sign_of_the_published_difference(project: Path) -> None:
    expected = {
        claim.id: test.expected for claim in claims.read_claims() if claim.reported for test in claim.tests
        if isinstance(test, claims.Comparison)
    }  # fmt: skip
    assert expected[LOSS.format("mask")] == "less"  # 0.0029 against 1.379
    assert expected[LOSS.format("structured_svd")] == "greater"  # 1.737 against 1.379
    assert expected["T1-boolean-majority3-structured_opt-test_loss"] == "equal"  # 0.495 against 0.509: within a tenth
    assert expected["T4-boolean-cyclic3-mask_zero-test_loss"] == "less"  # 2.53 against 5.65
    assert expected[ACCURACY.format("structured_opt")] == "equal"
    assert expected["T6-language-tinystories-mask-test_perplexity"] == "equal"  # 10.48 against 10.49


def test_reduced_scale_confirms_a_direction_and_never_a_number(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_loss", [1.379] * 5)
    write_cell("2parity", "mask", "test_loss", [0.0029] * 5)
    assert judged(LOSS.format("mask")).verdict == DIRECTION_ONLY
    assert judged(LOSS.format("default")).verdict == DIRECTION_ONLY


def test_an_interval_that_holds_zero_confirms_nothing(write_cell: WriteRun) -> None:
    # paired differences -2, -1, -1, 1, 1: s^2 = 1.8, interval -0.4 +- 2.776 x 0.6
    write_cell("2parity", "default", "test_loss", [4.0, 3.0, 3.0, 1.0, 1.0])
    write_cell("2parity", "mask", "test_loss", [2.0, 2.0, 2.0, 2.0, 2.0])
    found = judged(LOSS.format("mask"))
    assert found.verdict == NOT_REPRODUCED
    assert found.detail == "2parity mask test_loss - default = -0.4 [-2.066, 1.266] (n = 5) is not less"


def test_no_difference_needs_an_interval_within_the_tolerance(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_accuracy", [75.0] * 5)
    write_cell("2parity", "structured_svd", "test_accuracy", [75.2, 75.1, 75.0, 74.9, 74.8])
    write_cell("2parity", "structured_opt", "test_accuracy", [78.0, 72.0, 78.0, 72.0, 75.0])  # same mean, too wide
    assert judged(ACCURACY.format("structured_svd")).verdict == DIRECTION_ONLY
    assert judged(ACCURACY.format("structured_opt")).verdict == NOT_REPRODUCED


def test_default_must_reach_its_known_solution(write_cell: WriteRun) -> None:
    # the band of the loss is [1, 4]: a quarter to all of the exact interpolator's 4
    write_cell("2parity", "default", "test_loss", [0.9] * 5)
    assert judged(LOSS.format("default")).verdict == NOT_REPRODUCED
    write_cell("2parity", "default", "test_loss", [1.1] * 5)
    assert judged(LOSS.format("default")).verdict == DIRECTION_ONLY


def test_paper_scale_compares_the_number(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_loss", [1.37, 1.38, 1.39], scale="paper")
    write_cell("2parity", "mask", "test_loss", [0.01, 0.01, 0.01], scale="paper")
    write_cell("2parity", "structured_svd", "test_loss", [2.0, 2.0, 2.01], scale="paper")
    assert judged(LOSS.format("default")).verdict == REPRODUCED
    assert judged(LOSS.format("mask")).verdict == REPRODUCED  # 0.0029 within 0.02
    found = judged(LOSS.format("structured_svd"))
    assert found.verdict == DIRECTION_ONLY  # larger than Default, but 2.0 is not within a tenth of 1.737
    assert found.detail.endswith("outside 1.737 ± 0.174")
    assert found.scale == "paper"


def test_paper_scale_needs_the_direction_as_well(write_cell: WriteRun) -> None:
    write_cell("threesym", "default", "test_loss", [8.3] * 3, scale="paper")
    write_cell(
        "threesym", "structured_svd", "test_loss", [7.0] * 3, scale="paper"
    )  # within 7.616 ± 0.76, yet below Default
    assert judged("T1-boolean-threesym-structured_svd-test_loss").verdict == NOT_REPRODUCED


def test_a_single_seed_must_exceed_the_tolerance(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_loss", [1.379], scale="paper")
    write_cell("2parity", "structured_svd", "test_loss", [1.45], scale="paper")  # larger, by less than 0.138
    write_cell("2parity", "structured_opt", "test_loss", [1.6], scale="paper")
    assert judged(LOSS.format("structured_svd")).verdict == NOT_REPRODUCED
    assert judged(LOSS.format("structured_opt")).verdict == REPRODUCED  # 1.6 within 1.746 ± 0.175


def test_two_seeds_must_both_pass(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_accuracy", [75.0, 77.0])
    assert judged(ACCURACY.format("default")).verdict == NOT_REPRODUCED
    write_cell("2parity", "default", "test_accuracy", [75.0, 75.5])
    assert judged(ACCURACY.format("default")).verdict == DIRECTION_ONLY


def test_a_diverged_run_is_never_reproduced(write_cell: WriteRun, write_run: WriteRun) -> None:
    write_cell("2parity", "default", "test_loss", [1.37, 1.38, 1.39], scale="paper")
    write_run("2parity", "default", 3, {}, scale="paper", diverged=True)
    found = judged(LOSS.format("default"))
    assert found.verdict == DIRECTION_ONLY
    assert "1 diverged" in found.detail
    assert found.ours is not None
    assert (found.ours.n, found.ours.planned) == (3, 5)


def test_a_cell_that_only_diverged_is_not_reproduced(write_cell: WriteRun, write_run: WriteRun) -> None:
    write_run("2parity", "default", 0, {}, diverged=True)
    assert judged(LOSS.format("default")).verdict == NOT_REPRODUCED


def test_smoke_runs_prove_nothing(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_loss", [1.379] * 3, scale="smoke")
    found = judged(LOSS.format("default"), scale="smoke")
    assert (found.verdict, found.detail) == (NOT_RUN, "smoke runs prove nothing")


def test_a_statement_needs_all_its_tests(write_cell: WriteRun) -> None:
    claim = "boolean-mask-beats-default"
    for task in ("2parity", "cyclic3", "majority3"):
        write_cell(task, "default", "test_loss", [1.0, 1.1, 1.2])
        write_cell(task, "mask", "test_loss", [0.1, 0.2, 0.3])
    assert judged(claim).verdict == NOT_RUN
    write_cell("threesym", "default", "test_loss", [1.0, 1.1, 1.2])
    write_cell("threesym", "mask", "test_loss", [1.0, 1.1, 1.2])
    assert judged(claim).verdict == NOT_REPRODUCED
    write_cell("threesym", "mask", "test_loss", [0.8, 0.9, 1.0])
    assert judged(claim).verdict == DIRECTION_ONLY


def test_persistence_is_read_from_the_arrays(write_cell: WriteRun) -> None:
    claim = "boolean-mask-persists-in-the-map"
    for task in ("2parity", "majority3"):
        write_cell(task, "mask", "test_loss", [0.1] * 3, map_alignment=(1.0, 1.0, 0.9, 0.8))
    assert judged(claim).verdict == DIRECTION_ONLY
    write_cell("majority3", "mask", "test_loss", [0.1] * 3, map_alignment=(1.0, 0.8, 0.4, 0.3))
    assert judged(claim).verdict == NOT_REPRODUCED


def test_the_paper_contradicts_itself_three_times(project: Path) -> None:
    found = claims.inconsistencies(claims.read_reported())
    assert [(a.task, a.method, a.digits, b.digits) for a, b in found] == [
        ("2parity", "mask", "0.0029", "0.02"),
        ("cyclic3", "default", "87.45", "87.47"),
        ("imagenet100", "mask", "85.92", "85.82"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("low: 99}", "lowest: 99}", "claims.yaml: "),
        ("id: boolean-mask-solves-cyclic3", "id: boolean-mask-solves-2parity", "occurs more than once"),
        ("    best_top1:", "    top1:", "tolerances: vision: best_top1 is missing"),
    ],
)
def test_a_mistake_in_the_claims_is_named(project: Path, old: str, new: str, message: str) -> None:
    path = project / "config" / "claims.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(UserError, match=message):
        claims.read_claims()


def test_claims_need_neither_torch_nor_plots() -> None:
    code = (
        "import sys, maskprior.analysis.claims; print([m for m in ('torch', 'pandas', 'seaborn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
