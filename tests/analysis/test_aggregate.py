"""Intervals and paired tests against values worked out by hand or from tables of the t-distribution."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskprior.analysis.aggregate import paired_difference, sign_test, summarise, t_interval

VALUES = st.lists(st.floats(-100, 100), min_size=2, max_size=12)


def test_t_interval_of_two_values() -> None:
    # mean 1, s = sqrt 2, s / sqrt 2 = 1; t(0.975, 1) = tan(0.475 pi) = 12.7062
    low, high = t_interval([0.0, 2.0])
    half = math.tan(0.475 * math.pi)
    assert low == pytest.approx(1 - half)
    assert high == pytest.approx(1 + half)


def test_t_interval_of_five_values() -> None:
    # 1..5: mean 3, s^2 = 2.5, s / sqrt 5 = sqrt 0.5; t(0.975, 4) = 2.776445
    low, high = t_interval([1, 2, 3, 4, 5])
    assert low == pytest.approx(3 - 2.776445 * math.sqrt(0.5), abs=1e-5)
    assert high == pytest.approx(3 + 2.776445 * math.sqrt(0.5), abs=1e-5)


def test_one_value_has_no_interval() -> None:
    found = summarise([2.5], planned=5, diverged=1)
    assert (found.mean, found.median, found.n, found.planned, found.diverged) == (2.5, 2.5, 1, 5, 1)
    assert math.isnan(found.low)
    assert not found.has_interval


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
    low, high = t_interval(values)
    assert low <= high
    assert (low + high) / 2 == pytest.approx(float(np.mean(values)), abs=1e-9)


@given(VALUES, st.floats(-50, 50), st.floats(0.1, 10))
def test_interval_moves_and_scales_with_the_values(values: list[float], shift: float, scale: float) -> None:
    low, high = t_interval(values)
    moved = t_interval([scale * v + shift for v in values])
    assert moved == pytest.approx((scale * low + shift, scale * high + shift), rel=1e-6, abs=1e-6)


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=8))
def test_repeating_the_values_narrows_the_interval(values: list[float]) -> None:
    low, high = t_interval(values)
    low2, high2 = t_interval(values * 2)
    assert high2 - low2 <= high - low + 1e-9


def test_interval_covers_the_mean_as_often_as_it_says() -> None:
    draws = np.random.default_rng(0).normal(size=(2000, 5))
    inside = [low <= 0 <= high for low, high in map(t_interval, draws.tolist())]
    # Binomial(2000, 0.95) has standard deviation 0.49 %: four of them.
    assert abs(float(np.mean(inside)) - 0.95) < 0.02


def test_paired_difference_uses_only_the_seeds_both_have() -> None:
    found = paired_difference({0: 1.0, 1: 2.0, 3: 9.0}, {0: 0.0, 1: 4.0, 2: 7.0})
    assert found.values == (1.0, -2.0)
    assert (found.mean, found.n) == (-0.5, 2)


def test_paired_t_of_five_differences() -> None:
    # differences 1..5: t = 3 / sqrt 0.5 = 4.2426 with 4 degrees of freedom, two-sided p = 0.013236
    found = paired_difference(dict(enumerate([1.0, 2, 3, 4, 5])), dict.fromkeys(range(5), 0.0))
    assert found.t_p == pytest.approx(0.0132, abs=5e-5)
    assert found.sign_p == pytest.approx(2 / 2**5)


def test_paired_t_is_dual_to_the_interval() -> None:
    for shift in np.linspace(-3, 3, 25):
        values = {i: v + shift for i, v in enumerate([-1.2, 0.3, 0.8, 1.9])}
        found = paired_difference(values, dict.fromkeys(values, 0.0))
        assert (found.t_p < 0.05) == (found.low > 0 or found.high < 0)


def test_equal_differences_are_certain_or_nothing() -> None:
    assert paired_difference({0: 2.0, 1: 2.0}, {0: 1.0, 1: 1.0}).t_p == 0
    assert paired_difference({0: 2.0, 1: 2.0}, {0: 2.0, 1: 2.0}).t_p == 1


@pytest.mark.parametrize(
    ("values", "p"),
    [([1, 2, 3, 4, 5], 0.0625), ([1, 2, 3, 4, -5], 0.375), ([0, 0, 1], 1.0), ([], 1.0), ([1, 1, 1, 1, 1, 1], 0.03125)],
)
def test_sign_test(values: list[float], p: float) -> None:
    assert sign_test(values) == p
