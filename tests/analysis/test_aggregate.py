"""Intervals and paired tests against values worked out by hand or from tables of the t-distribution."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskprior.analysis.aggregate import (
    adjusted,
    equivalence_test,
    interval,
    paired_difference,
    sign_test,
    summarise,
)
from maskprior.analysis.axes import COSINE, LOG, PERCENT, SHARE, Axis, axis_of

VALUES = st.lists(st.floats(-100, 100), min_size=2, max_size=12)


def test_t_interval_of_two_values() -> None:
    # mean 1, s = sqrt 2, s / sqrt 2 = 1; t(0.975, 1) = tan(0.475 pi) = 12.7062
    low, high = interval([0.0, 2.0])
    half = math.tan(0.475 * math.pi)
    assert low == pytest.approx(1 - half)
    assert high == pytest.approx(1 + half)


def test_t_interval_of_five_values() -> None:
    # 1..5: mean 3, s^2 = 2.5, s / sqrt 5 = sqrt 0.5; t(0.975, 4) = 2.776445
    low, high = interval([1, 2, 3, 4, 5])
    assert low == pytest.approx(3 - 2.776445 * math.sqrt(0.5), abs=1e-5)
    assert high == pytest.approx(3 + 2.776445 * math.sqrt(0.5), abs=1e-5)


def test_one_value_has_no_interval() -> None:
    found = summarise([2.5], planned=5, diverged=1)
    assert (found.mean, found.median, found.n, found.planned, found.diverged) == (2.5, 2.5, 1, 5, 1)
    assert math.isnan(found.low)
    assert not found.has_interval


def test_two_values_have_no_interval_either() -> None:
    found = summarise([2.5, 3.5], planned=5)
    assert (found.mean, found.n, found.has_interval) == (3.0, 2, False)
    assert math.isnan(found.low)


def test_no_value_has_no_mean() -> None:
    found = summarise([], planned=5)
    assert math.isnan(found.mean)
    assert found.n == 0


def test_a_missing_seed_cannot_be_averaged_away() -> None:
    assert summarise([1.0, 3.0], planned=3) == summarise([1.0, 3.0], planned=3)
    assert summarise([1.0, 3.0], planned=3).planned == 3
    with pytest.raises(ValueError, match="3 values and 1 diverged runs of 3 planned"):
        summarise([1.0, 2.0, 3.0], planned=3, diverged=1)


@given(VALUES)
def test_interval_is_centred_on_the_mean(values: list[float]) -> None:
    low, high = interval(values)
    assert low <= high
    assert (low + high) / 2 == pytest.approx(float(np.mean(values)), abs=1e-9)


@given(VALUES, st.floats(-50, 50), st.floats(0.1, 10))
def test_interval_moves_and_scales_with_the_values(values: list[float], shift: float, scale: float) -> None:
    low, high = interval(values)
    moved = interval([scale * v + shift for v in values])
    assert moved == pytest.approx((scale * low + shift, scale * high + shift), rel=1e-6, abs=1e-6)


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=8))
def test_repeating_the_values_narrows_the_interval(values: list[float]) -> None:
    low, high = interval(values)
    low2, high2 = interval(values * 2)
    assert high2 - low2 <= high - low + 1e-9


def test_interval_covers_the_mean_as_often_as_it_says() -> None:
    draws = np.random.default_rng(0).normal(size=(2000, 5))
    inside = [low <= 0 <= high for low, high in map(interval, draws.tolist())]
    # Binomial(2000, 0.95) has standard deviation 0.49 %: four of them.
    assert abs(float(np.mean(inside)) - 0.95) < 0.02


def test_paired_difference_uses_only_the_seeds_both_have() -> None:
    found = paired_difference({0: 1.0, 1: 2.0, 3: 9.0}, {0: 0.0, 1: 4.0, 2: 7.0})
    assert found.values == (1.0, -2.0)
    assert (found.mean, found.n) == (-0.5, 2)


def test_paired_t_of_five_differences() -> None:
    # differences 1..5: t = 3 / sqrt 0.5 = 4.2426 with 4 degrees of freedom, two-sided p = 0.013236
    found = paired_difference(dict(enumerate([1.0, 2, 3, 4, 5])), dict.fromkeys(range(5), 0.0))
    assert found.p == pytest.approx(0.0132, abs=5e-5)
    assert found.sign_p == pytest.approx(2 / 2**5)


def test_paired_t_is_dual_to_the_interval() -> None:
    for shift in np.linspace(-3, 3, 25):
        values = {i: v + shift for i, v in enumerate([-1.2, 0.3, 0.8, 1.9])}
        found = paired_difference(values, dict.fromkeys(values, 0.0))
        assert (found.p < 0.05) == (found.low > 0 or found.high < 0)


def test_equal_differences_are_certain_or_nothing() -> None:
    assert paired_difference({0: 2.0, 1: 2.0}, {0: 1.0, 1: 1.0}).p == 0
    assert paired_difference({0: 2.0, 1: 2.0}, {0: 2.0, 1: 2.0}).p == 1


@pytest.mark.parametrize(
    ("values", "p"),
    [([1, 2, 3, 4, 5], 0.0625), ([1, 2, 3, 4, -5], 0.375), ([0, 0, 1], 1.0), ([], 1.0), ([1, 1, 1, 1, 1, 1], 0.03125)],
)
def test_sign_test(values: list[float], p: float) -> None:
    assert sign_test(values) == p


def test_interval_of_losses_is_taken_on_logarithms() -> None:
    # logarithms 1..5: 3 ± 2.776445 sqrt 0.5
    values = [math.exp(v) for v in (1, 2, 3, 4, 5)]
    found = summarise(values, planned=5, axis=LOG)
    half = 2.776445 * math.sqrt(0.5)
    assert found.mean == pytest.approx(math.exp(3))
    assert (found.low, found.high) == pytest.approx((math.exp(3 - half), math.exp(3 + half)), rel=1e-5)


def test_interval_of_accuracies_is_that_of_the_logit_of_the_mean() -> None:
    # mean 90 %, s = 10 points / sqrt 2, se = 5 sqrt 2 / sqrt 3; on the logit: se / (0.9 x 0.1) = 0.4536
    found = summarise([90 - 5 * math.sqrt(2), 90.0, 90 + 5 * math.sqrt(2)], planned=3, axis=PERCENT)
    half = 4.302653 * 0.05 * math.sqrt(2) / math.sqrt(3) / 0.09
    low, high = (100 / (1 + math.exp(-(math.log(9) + side * half))) for side in (-1, 1))
    assert found.mean == pytest.approx(90)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-5)


IN_RANGE = {
    "test_loss": st.floats(1e-9, 1e3),
    "val_perplexity": st.floats(1, 1e5),
    "test_accuracy": st.floats(0, 100) | st.sampled_from([0.0, 100.0, 99.9]),
    "function_final": st.floats(0, 1) | st.sampled_from([0.0, 1.0]),
    "map_final": st.floats(-1, 1) | st.sampled_from([1.0, -1.0]),
    "strength_initial": st.floats(-1, 1),
}


@given(st.data())
def test_no_interval_leaves_the_possible_range(data: st.DataObject) -> None:
    for metric, values in IN_RANGE.items():
        axis = axis_of(metric)
        found = summarise(data.draw(st.lists(values, min_size=3, max_size=6)), planned=6, axis=axis)
        assert axis.low <= found.low <= found.high <= axis.high
        assert found.low <= found.mean * (1 + 1e-9) + 1e-9
        assert found.mean <= found.high * (1 + 1e-9) + 1e-9


@given(st.lists(st.floats(0, 100), min_size=3, max_size=6), st.lists(st.floats(0, 100), min_size=6, max_size=6))
def test_no_difference_of_accuracies_is_wider_than_their_range(left: list[float], right: list[float]) -> None:
    found = paired_difference(dict(enumerate(left)), dict(enumerate(right)), axis=PERCENT)
    assert -100 <= found.low <= found.high <= 100


@pytest.mark.parametrize(
    ("metric", "axis"),
    [
        ("test_loss", LOG), ("val_perplexity_exact", LOG), ("test_bits_per_byte", LOG), ("best_top1", PERCENT),
        ("unseen_sign_accuracy", PERCENT), ("map_final", COSINE), ("strength_initial", COSINE),
        ("function_best", SHARE), ("init_fidelity_alignment", COSINE), ("init_fidelity_open_mass", SHARE),
        ("gap_final", Axis()), ("strength_retention", Axis()), ("unseen_mean_prediction", Axis()),
    ],
)  # fmt: skip
def test_where_a_number_lives(metric: str, axis: Axis) -> None:
    assert axis_of(metric) == axis


def test_paired_ratios() -> None:
    # ratios 1/2, 1/4, 1/8: logarithms -1, -2, -3 times log 2
    found = paired_difference({0: 1.0, 1: 1.0, 2: 1.0}, {0: 2.0, 1: 4.0, 2: 8.0}, axis=LOG, planned=5)
    half = 4.302653 / math.sqrt(3)
    assert found.mean == pytest.approx(0.25)
    assert (found.low, found.high) == pytest.approx((2 ** (-2 - half), 2 ** (-2 + half)), rel=1e-5)
    assert (found.n, found.planned, found.none) == (3, 5, 1.0)


def test_equivalence_is_the_larger_of_two_one_sided_tests() -> None:
    # 1..5 against a margin of 4: t = (3 - 4) / sqrt 0.5 = -1.4142 with 4 degrees of freedom, one-sided p = 0.11509
    assert equivalence_test([1, 2, 3, 4, 5], 4.0) == pytest.approx(0.1151, abs=5e-4)
    assert equivalence_test([0.0, 0.0, 0.0], 1.0) == 0
    assert equivalence_test([2.0, 2.0, 2.0], 1.0) == 1


def test_benjamini_hochberg_by_hand() -> None:
    # sorted 0.01, 0.02, 0.04: times 3/1, 3/2, 3/3, then the least from the right
    assert adjusted([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.03])
    assert adjusted([]) == []
