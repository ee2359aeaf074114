"""Each rule of the decision at its edge; test_whole_decision.py has all its cases, from records to outcomes.

Each of these twelve changes to `decide.py` or `aggregate.py` was made once by hand, and made a test of this file fail:
1. the value agrees wherever it lies in the prediction interval, whatever the tolerance;
2. the value agrees wherever it lies within the tolerance, whatever the prediction interval;
3. the prediction interval is that of the mean (without the 1 in 1 + 1/n);
4. the prediction interval is not widened by half a unit of the last printed digit;
5. a cell with a diverged run agrees, or its direction holds;
6. a direction holds by the sign of the mean, without the interval;
7. an interval on the other side is `open` in place of `contradicted`;
8. two seeds are enough for an outcome;
9. no difference holds where the interval contains zero;
10. losses are compared by differences in place of ratios;
11. the distance from the published value has a sign (without `abs`, whatever is far below it agrees);
12. no difference is contradicted by `high < margin` in place of `high < -margin`.
"""

import math
from collections.abc import Sequence

import pytest

from maskprior.analysis.aggregate import Difference, paired_difference, prediction_interval
from maskprior.analysis.axes import LOG, PERCENT, PLAIN
from maskprior.analysis.decide import (
    AGREES,
    CONTRADICTED,
    DIFFERS,
    FEW,
    HOLDS,
    NOT_TESTED,
    OPEN,
    Expected,
    combine,
    decide_band,
    decide_direction,
    decide_value,
)

# Five seeds with mean 0 and s = 1; fewer are the first of them, centred anew. t(0.975, 4) = 2.776, t(0.975, 2) = 4.303.
SPREAD = {
    1: [0.0],
    2: [-1.0, 1.0],
    3: [-1.0, 0.0, 1.0],
    5: [-1.2, -0.8, 0.0, 0.8, 1.2],
}


def seeds(mean: float, n: int, spread: float = 1.0) -> list[float]:
    return [mean + spread * step for step in SPREAD[n]]


def difference(steps: Sequence[float], planned: int = 5) -> Difference:
    return paired_difference(dict(enumerate(steps)), dict.fromkeys(range(len(steps)), 0.0), planned=planned)


# Of five seeds around 10 with s = 1.02 one further seed lies in 10 ± 2.776 x 1.02 x sqrt(6/5) = 10 ± 3.10; of three
# with s = 1 in 10 ± 4.303 x sqrt(4/3) = 10 ± 4.97.
@pytest.mark.parametrize(
    ("n", "published", "tolerance", "diverged", "outcome"),
    [
        (5, 10.5, 1.0, 0, AGREES),
        (5, 11.5, 1.0, 0, OPEN),  # one more seed could be there, the mean is not near enough
        (5, 8.5, 1.0, 0, OPEN),
        (5, 13.0, 5.0, 0, AGREES),
        (5, 13.2, 5.0, 0, DIFFERS),  # within the tolerance, yet no seed of ours would be there
        (5, 6.8, 5.0, 0, DIFFERS),
        (5, 10.5, 1.0, 1, OPEN),
        (5, 13.2, 5.0, 1, DIFFERS),
        (3, 10.5, 1.0, 0, AGREES),
        (3, 14.9, 1.0, 0, OPEN),
        (3, 15.1, 9.0, 0, DIFFERS),
        (2, 10.0, 9.0, 0, FEW),
        (1, 10.0, 9.0, 0, FEW),
        (1, 99.0, 1.0, 0, FEW),
    ],
)
def test_a_published_value(n: int, published: float, tolerance: float, diverged: int, outcome: str) -> None:
    found = decide_value(seeds(10, n), published, half_unit=0.0, tolerance=tolerance, axis=PLAIN, diverged=diverged)
    assert found.outcome == outcome


def test_no_value_is_not_tested_and_only_diverged_runs_leave_it_open() -> None:
    assert decide_value([], 1.0, half_unit=0.0, tolerance=1.0).outcome == NOT_TESTED
    assert decide_value([], 1.0, half_unit=0.0, tolerance=1.0, diverged=2).outcome == OPEN


def test_few_seeds_say_inside_or_outside_and_all_have_to_be_inside() -> None:
    assert decide_value([10.5], 10.0, half_unit=0.0, tolerance=1.0).inside is True
    assert decide_value([11.5], 10.0, half_unit=0.0, tolerance=1.0).inside is False
    assert decide_value([10.5, 11.5], 10.0, half_unit=0.0, tolerance=1.0).inside is False


def test_rounding_of_the_published_number_is_allowed_for() -> None:
    # five seeds that all say 74.996: the paper would print 75.00
    assert decide_value([74.996] * 5, 75.0, half_unit=0.005, tolerance=1.0, axis=PERCENT).outcome == AGREES
    assert decide_value([74.994] * 5, 75.0, half_unit=0.005, tolerance=1.0, axis=PERCENT).outcome == DIFFERS


def test_prediction_interval_by_hand() -> None:
    # 1..5: mean 3, s = sqrt 2.5, t = 2.776445, sqrt(1 + 1/5): 3 ± 4.8090
    low, high = prediction_interval([1, 2, 3, 4, 5])
    assert (low, high) == pytest.approx((3 - 4.80894, 3 + 4.80894), abs=1e-4)
    # the same on logarithms
    found = prediction_interval([math.exp(v) for v in (1, 2, 3, 4, 5)], LOG)
    assert found == pytest.approx((math.exp(3 - 4.80894), math.exp(3 + 4.80894)), rel=1e-4)


# Pairs with s = 1.02 (n = 5): the interval is the mean ± 2.776 x 1.02 / sqrt 5 = ± 1.266; n = 3: ± 4.303 / sqrt 3 =
# ± 2.484.
@pytest.mark.parametrize(
    ("n", "mean", "expected", "diverged", "outcome"),
    [
        (5, -2.0, "less", 0, HOLDS),
        (5, 2.0, "less", 0, CONTRADICTED),
        (5, -1.0, "less", 0, OPEN),
        (5, 1.0, "less", 0, OPEN),
        (5, 2.0, "greater", 0, HOLDS),
        (5, -2.0, "greater", 0, CONTRADICTED),
        (5, 1.0, "greater", 0, OPEN),
        (5, 2.0, "greater", 1, OPEN),
        (5, -2.0, "greater", 1, CONTRADICTED),
        (3, 2.0, "greater", 0, OPEN),
        (3, 3.0, "greater", 0, HOLDS),
        (2, 99.0, "greater", 0, FEW),
        (2, 99.0, "less", 0, FEW),
        (1, 99.0, "greater", 0, FEW),
    ],
)
def test_a_direction(n: int, mean: float, expected: Expected, diverged: int, outcome: str) -> None:
    found = decide_direction(difference(seeds(mean, n)), expected, margin=0.5, diverged=diverged)
    assert found.outcome == outcome
    if outcome == FEW:
        assert found.inside is (expected == "greater")


# Two one-sided tests at 5 %: the 90 % interval, mean ± 2.132 x s / sqrt 5, has to lie within the margin of 1.
@pytest.mark.parametrize(
    ("mean", "spread", "outcome"),
    [
        (0.0, 1.0, HOLDS),  # ± 0.972
        (0.0, 1.1, OPEN),  # ± 1.07
        (0.5, 0.5, HOLDS),  # 0.5 ± 0.486: the interval excludes zero, the difference is within the margin
        (0.6, 0.5, OPEN),
        (-0.6, 0.5, OPEN),  # all of the 95 % interval, -0.6 ± 0.633, lies below the upper margin
        (1.5, 0.5, OPEN),  # the 95 % interval, 1.5 ± 0.633, reaches into the margin
        (-1.5, 0.5, OPEN),
        (1.7, 0.5, CONTRADICTED),
        (-1.7, 0.5, CONTRADICTED),
    ],
)
def test_no_difference(mean: float, spread: float, outcome: str) -> None:
    found = decide_direction(difference(seeds(mean, 5, spread)), "equal", margin=1.0)
    assert found.outcome == outcome


def test_no_difference_says_how_many_seeds_it_would_take() -> None:
    # s = 10.2: t(0.95, n-1) x 10.2 / sqrt n < 1 from n = 284 on (1.650 x 10.2 / 16.85 = 0.999)
    found = decide_direction(difference(seeds(0, 5, 10)), "equal", margin=1.0)
    assert found.outcome == OPEN
    assert "no fewer than 284 seeds could show it (5 planned)" in found.detail


def test_no_difference_of_few_seeds() -> None:
    assert decide_direction(difference([0.1]), "equal", margin=1.0).inside is True
    found = decide_direction(difference([0.1, 3.0]), "equal", margin=1.0)
    assert (found.outcome, found.inside) == (FEW, False)


def test_nothing_to_pair() -> None:
    assert decide_direction(difference([]), "less", margin=1.0).outcome == NOT_TESTED
    assert decide_direction(difference([]), "less", margin=1.0, diverged=1).outcome == OPEN


def test_losses_are_compared_as_ratios() -> None:
    # a loss that is lower in five seeds of five, by factors around 260, where one seed of the other is tiny
    mask = dict(enumerate([0.004, 0.003, 0.006, 0.004, 0.004]))
    default = dict(enumerate([5.6, 0.09, 3.1, 1.9, 0.8]))
    raw = paired_difference(mask, default)
    ratio = paired_difference(mask, default, axis=LOG)
    assert raw.low < 0 < raw.high
    assert ratio.ratio
    assert 0 < ratio.low < ratio.mean < ratio.high < 1
    assert decide_direction(ratio, "less", margin=0.1).outcome == HOLDS


@pytest.mark.parametrize(
    ("mean", "low", "high", "outcome"),
    [
        (10.0, 8.0, 12.0, HOLDS),  # 10 ± 1.266
        (10.0, 9.0, 12.0, OPEN),
        (10.0, 8.0, 11.0, OPEN),
        (10.0, 12.0, 14.0, CONTRADICTED),
        (10.0, 2.0, 8.0, CONTRADICTED),
        (10.0, -math.inf, 12.0, HOLDS),
        (10.0, 12.0, math.inf, CONTRADICTED),
    ],
)
def test_a_band(mean: float, low: float, high: float, outcome: str) -> None:
    assert decide_band(seeds(mean, 5), low, high).outcome == outcome
    diverged = decide_band(seeds(mean, 5), low, high, diverged=1).outcome
    assert diverged == (OPEN if outcome == HOLDS else outcome)
    few = decide_band([mean, mean], low, high)
    assert (few.outcome, few.inside) == (FEW, low <= mean <= high)


def test_a_band_without_values() -> None:
    assert decide_band([], 0, 1).outcome == NOT_TESTED
    assert decide_band([], 0, 1, diverged=3).outcome == OPEN


@pytest.mark.parametrize(
    ("outcomes", "together"),
    [
        ([HOLDS, HOLDS], HOLDS),
        ([HOLDS, CONTRADICTED], CONTRADICTED),
        ([NOT_TESTED, CONTRADICTED], CONTRADICTED),
        ([HOLDS, OPEN], OPEN),
        ([HOLDS, NOT_TESTED], OPEN),
        ([HOLDS, FEW], OPEN),
        ([FEW, NOT_TESTED], FEW),
        ([FEW], FEW),
        ([NOT_TESTED], NOT_TESTED),
        ([], NOT_TESTED),
    ],
)
def test_tests_together(outcomes: list[str], together: str) -> None:
    assert combine(outcomes) == together
