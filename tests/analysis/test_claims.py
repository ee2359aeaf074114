"""What constructed records say of claims: each rule of config/claims.yaml, and what happens at its edge."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from maskprior.analysis import claims, claims_file, headline, published
from maskprior.analysis.claims import Judgement
from maskprior.analysis.decide import AGREES, CONTRADICTED, DIFFERS, FEW, HOLDS, NOT_TESTED, OPEN
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


def evaluated(*ids: str, scale: str = "reduced", seeds: int = 5) -> list[Judgement]:
    settings = read_settings({"scale": scale, "seeds": seeds})
    return claims.evaluate(settings, [claim for claim in claims_file.read_claims() if claim.id in ids])


def judged(claim: str, at: str = "reduced") -> Judgement:
    return next(j for j in evaluated(claim, scale="smoke" if at == "smoke" else "reduced") if j.scale == at)


def test_every_published_number_is_a_claim(project: Path) -> None:
    found = claims_file.read_claims()
    numbers = [claim for claim in found if claim.reported]
    assert len(numbers) == 112
    assert len({claim.id for claim in found}) == len(found)
    assert all(claim.why for claim in found)
    # below the paper's scale every number but a Default's outside the Boolean tasks has a direction
    assert all(c.tests for c in numbers if c.reported and (c.reported.method != "default" or c.experiment == "boolean"))


def test_a_number_printed_twice_counts_once(project: Path) -> None:
    again = [claim for claim in claims_file.read_claims() if claim.again]
    assert len(again) == 26
    assert {claim.place for claim in again} == {"Table 4", "Table 5"}
    counts = {row.place: row.claims for row in headline.matrix(claims.evaluate(read_settings()))}
    assert counts["all numbers"] == 86
    assert (counts["Table 1"], counts["Table 4"], counts["Table 5"]) == (28, 7, 3)


def test_nothing_is_tested_before_anything_ran(project: Path) -> None:
    found = claims.evaluate(read_settings())
    assert {(j.value, j.direction) for j in found} <= {(v, d) for v in (NOT_TESTED, None) for d in (NOT_TESTED, None)}
    total = headline.matrix(found)[-1]
    assert total.not_tested == total.claims
    assert found[0].detail.startswith(
        "value: no value; 2parity default test_loss: no record of boolean/2parity/default"
    )


def test_direction_is_the_sign_of_the_published_difference(project: Path) -> None:
    expected = {
        claim.id: test.expected for claim in claims_file.read_claims() if claim.reported for test in claim.tests
        if isinstance(test, claims_file.Comparison)
    }  # fmt: skip
    assert expected[LOSS.format("mask")] == "less"  # 0.0029 against 1.379
    assert expected[LOSS.format("structured_svd")] == "greater"  # 1.737 against 1.379
    assert expected["T1-boolean-majority3-structured_opt-test_loss"] == "equal"  # 0.495 against 0.509: within a tenth
    assert expected["T4-boolean-cyclic3-mask_zero-test_loss"] == "less"  # 2.53 against 5.65
    assert expected[ACCURACY.format("structured_opt")] == "equal"
    assert expected["T6-language-tinystories-mask-test_perplexity"] == "equal"  # 10.48 against 10.49


def test_reduced_scale_says_a_direction_and_never_a_value(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_loss", [1.379] * 5)
    write_cell("2parity", "mask", "test_loss", [0.0029] * 5)
    for method in ("mask", "default"):
        found = judged(LOSS.format(method))
        assert (found.value, found.direction) == (None, HOLDS)
    at_paper = judged(LOSS.format("mask"), "paper")
    assert (at_paper.value, at_paper.direction) == (NOT_TESTED, NOT_TESTED)


def test_an_interval_that_holds_no_difference_leaves_it_open(write_cell: WriteRun) -> None:
    # paired differences -2, -1, -1, 1, 1: s^2 = 1.8, interval -0.4 +- 2.776 x 0.6
    write_cell("2parity", "default", "test_accuracy", [78.0, 77.0, 77.0, 75.0, 75.0])
    write_cell("2parity", "mask", "test_accuracy", [76.0, 76.0, 76.0, 76.0, 76.0])
    found = judged(ACCURACY.format("mask"))
    assert found.direction == OPEN
    assert found.detail.endswith("against default: -0.4 [-2.066, 1.266] (n = 5) may have either sign")


def test_the_other_sign_contradicts(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_loss", [1.0, 1.1, 1.2])
    write_cell("2parity", "mask", "test_loss", [2.0, 2.1, 2.3])
    assert judged(LOSS.format("mask")).direction == CONTRADICTED


def test_no_difference_needs_an_interval_within_the_tolerance(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_accuracy", [75.0] * 5)
    write_cell("2parity", "structured_svd", "test_accuracy", [75.2, 75.1, 75.0, 74.9, 74.8])
    write_cell("2parity", "structured_opt", "test_accuracy", [78.0, 72.0, 78.0, 72.0, 75.0])  # same mean, too wide
    assert judged(ACCURACY.format("structured_svd")).direction == HOLDS
    found = judged(ACCURACY.format("structured_opt"))
    assert found.direction == OPEN
    assert "seeds could show it (5 planned)" in found.detail


def test_default_must_reach_its_known_solution(write_cell: WriteRun) -> None:
    # the band of the loss is [1, 4]: a quarter to all of the exact interpolator's 4
    write_cell("2parity", "default", "test_loss", [0.9] * 5)
    assert judged(LOSS.format("default")).direction == CONTRADICTED
    write_cell("2parity", "default", "test_loss", [0.9, 1.1, 1.2, 1.0, 1.0])
    assert judged(LOSS.format("default")).direction == OPEN
    write_cell("2parity", "default", "test_loss", [1.1] * 5)
    assert judged(LOSS.format("default")).direction == HOLDS


def test_paper_scale_asks_for_the_value(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_loss", [1.36, 1.38, 1.40], scale="paper")
    write_cell("2parity", "mask", "test_loss", [0.002, 0.003, 0.004], scale="paper")
    write_cell("2parity", "structured_svd", "test_loss", [2.0, 2.0, 2.01], scale="paper")
    write_cell("2parity", "structured_opt", "test_loss", [1.3, 1.8, 2.6], scale="paper")
    assert judged(LOSS.format("default"), "paper").value == AGREES
    assert judged(LOSS.format("mask"), "paper").value == AGREES
    found = judged(LOSS.format("structured_svd"), "paper")
    assert (found.value, found.direction) == (DIFFERS, HOLDS)  # larger than Default, and none of our seeds near 1.737
    assert judged(LOSS.format("structured_opt"), "paper").value == AGREES  # a wide cell with a mean near 1.746
    # with 1.379 in place of the published 1.746 the seeds would allow it, the mean would not
    assert judged("T4-boolean-2parity-default-test_loss", "paper").value == AGREES


def test_a_second_print_of_a_cell_is_judged_by_itself(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_loss", [1.36, 1.38, 1.40], scale="paper")
    write_cell("2parity", "mask", "test_loss", [0.0028, 0.0029, 0.0030], scale="paper")
    assert judged(LOSS.format("mask"), "paper").value == AGREES  # 0.0029 in Table 1
    assert judged("T4-boolean-2parity-mask-test_loss", "paper").value == DIFFERS  # 0.02 in Table 4


def test_a_value_and_its_direction_are_told_apart(write_cell: WriteRun) -> None:
    # 7.616 could be one of these seeds, and yet they are below Default
    write_cell("threesym", "default", "test_loss", [9.5, 9.51, 9.52], scale="paper")
    write_cell("threesym", "structured_svd", "test_loss", [7.3, 7.5, 7.7], scale="paper")
    found = judged("T1-boolean-threesym-structured_svd-test_loss", "paper")
    assert found.value == AGREES
    assert found.direction == CONTRADICTED  # the paper has no difference


@pytest.mark.parametrize("n", [1, 2])
def test_few_seeds_decide_nothing(write_cell: WriteRun, n: int) -> None:
    write_cell("2parity", "default", "test_loss", [1.379] * n, scale="paper")
    write_cell("2parity", "structured_svd", "test_loss", [1.7] * n, scale="paper")
    write_cell("2parity", "structured_opt", "test_loss", [99.0] * n, scale="paper")
    inside, outside = (judged(LOSS.format(name), "paper") for name in ("structured_svd", "structured_opt"))
    assert (inside.value, inside.direction, inside.inside) == (FEW, FEW, True)
    assert (outside.value, outside.direction, outside.inside) == (FEW, FEW, False)


def test_one_seed_of_the_paper_never_replaces_five(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_loss", [1.379] * 5)
    write_cell("2parity", "mask", "test_loss", [0.0029] * 5)
    write_cell("2parity", "default", "test_loss", [1.379], scale="paper")
    write_cell("2parity", "mask", "test_loss", [9.9], scale="paper")
    members = evaluated(LOSS.format("mask"))
    assert [(j.scale, j.value, j.direction) for j in members] == [("paper", FEW, FEW), ("reduced", None, HOLDS)]
    assert headline.direction_of(members) == (HOLDS, "reduced")
    row = headline.matrix(members)[-1]
    assert (row.value[FEW], row.direction[HOLDS], row.at_paper[HOLDS], row.not_tested) == (1, 1, 0, 0)


def test_an_outcome_at_the_papers_scale_is_the_one_that_counts(write_cell: WriteRun) -> None:
    for scale, mask in (("paper", [2.0, 2.1, 2.2]), ("reduced", [0.1, 0.2, 0.3])):
        write_cell("2parity", "default", "test_loss", [1.0, 1.1, 1.2], scale=scale)
        write_cell("2parity", "mask", "test_loss", mask, scale=scale)
    members = evaluated(LOSS.format("mask"))
    assert headline.direction_of(members) == (CONTRADICTED, "paper")
    row = headline.matrix(members)[-1]
    assert (row.direction[CONTRADICTED], row.at_paper[CONTRADICTED]) == (1, 1)


def test_a_diverged_run_never_agrees(write_cell: WriteRun, write_run: WriteRun) -> None:
    write_cell("2parity", "default", "test_loss", [1.37, 1.38, 1.39], scale="paper")
    write_run("2parity", "default", 3, {}, scale="paper", diverged=True)
    found = judged(LOSS.format("default"), "paper")
    assert (found.value, found.direction) == (OPEN, OPEN)
    assert "1 diverged" in found.detail
    assert (found.n, found.planned, found.diverged) == (3, 5, 1)


def test_a_cell_that_only_diverged_is_open(write_run: WriteRun) -> None:
    write_run("2parity", "default", 0, {}, diverged=True)
    assert judged(LOSS.format("default")).direction == OPEN


def test_smoke_runs_prove_nothing(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_loss", [1.379] * 3, scale="smoke")
    found = judged(LOSS.format("default"), "smoke")
    assert (found.direction, found.detail) == (NOT_TESTED, "smoke runs prove nothing")


def test_a_statement_needs_all_its_tests(write_cell: WriteRun) -> None:
    claim = "boolean-mask-beats-default"
    for task in ("2parity", "cyclic3", "majority3"):
        write_cell(task, "default", "test_loss", [1.0, 1.1, 1.2])
        write_cell(task, "mask", "test_loss", [0.1, 0.2, 0.3])
    assert judged(claim).direction == OPEN  # one task has no records
    write_cell("threesym", "default", "test_loss", [1.0, 1.1, 1.2])
    write_cell("threesym", "mask", "test_loss", [1.2, 1.1, 1.0])
    assert judged(claim).direction == OPEN
    write_cell("threesym", "mask", "test_loss", [1.8, 1.9, 2.0])
    assert judged(claim).direction == CONTRADICTED
    write_cell("threesym", "mask", "test_loss", [0.7, 0.8, 0.9])
    assert judged(claim).direction == HOLDS


def test_p_values_are_adjusted_for_each_comparison_once(write_cell: WriteRun) -> None:
    write_cell("2parity", "default", "test_loss", [1.0, 1.2, 1.1, 1.0, 1.3])
    write_cell("2parity", "mask", "test_loss", [0.5, 0.9, 0.6, 0.4, 0.8])
    write_cell("2parity", "structured_svd", "test_loss", [1.3, 1.1, 1.2, 1.0, 1.4])
    ids = [LOSS.format("mask"), LOSS.format("structured_svd"), "T4-boolean-2parity-mask-test_loss"]
    tested = {j.claim.id: j.tested[0] for j in evaluated(*ids) if j.scale == "reduced"}
    mask, svd, again = (tested[name] for name in ids)
    assert mask.decision.p < svd.decision.p
    assert mask.p_adjusted == pytest.approx(2 * mask.decision.p)  # two comparisons: the third is the first again
    assert svd.p_adjusted == pytest.approx(svd.decision.p)
    assert again.p_adjusted == mask.p_adjusted
    chance = headline.expectation(evaluated(*ids))
    assert (chance.comparisons, chance.significant, chance.by_chance) == (2, 1, pytest.approx(0.1))


def test_persistence_is_read_from_the_arrays(write_cell: WriteRun) -> None:
    claim = "arithmetic-mask-persists-in-the-map"
    for task in ("addition", "multiplication"):
        write_cell(task, "mask", "test_loss", [0.1] * 3, strength=(1.0, 1.0, 0.9, 0.8))
    assert judged(claim).direction == HOLDS
    write_cell("multiplication", "mask", "test_loss", [0.1] * 3, strength=(1.0, 0.8, 0.4, 0.3))
    assert judged(claim).direction == CONTRADICTED


def test_the_paper_contradicts_itself_three_times(project: Path) -> None:
    found = published.inconsistencies(published.read_reported())
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
        claims_file.read_claims()


def test_claims_need_neither_torch_nor_plots() -> None:
    code = (
        "import sys, maskprior.analysis.claims; print([m for m in ('torch', 'pandas', 'seaborn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
