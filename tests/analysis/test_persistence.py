"""Retention and half-lives of constructed decays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskprior.analysis import persistence
from maskprior.analysis.persistence import HalfLife, half_life, retention

STEPS = np.array([0, 1, 3, 10, 30, 100, 300, 1000, 2000])


@given(st.floats(0.1, 1500))
def test_half_life_of_an_exponential_is_exact(life: float) -> None:
    found = half_life(STEPS, 2.0 ** (-STEPS / life))
    assert found.step is not None
    assert found.step == pytest.approx(life, rel=1e-6)
    assert found.after is not None
    assert found.before is not None
    assert found.after <= life * (1 + 1e-9)
    assert life <= found.before * (1 + 1e-9)


def test_not_reached_is_a_value_of_its_own() -> None:
    assert half_life(STEPS, np.full(9, 0.8)) == HalfLife("not reached")
    assert half_life(STEPS, np.full(9, 0.5)) == HalfLife("not reached")


def test_a_prior_that_never_was_has_no_half_life() -> None:
    assert np.isnan(retention(np.array([0.2, 0.5, 0.9]))).all()
    assert half_life(STEPS[:3], retention(np.array([0.2, 0.5, 0.9]))) == HalfLife("never there")
    assert half_life(STEPS[:3], retention(np.array([np.nan, 0.5, 0.9]))) == HalfLife("never there")


def test_a_fall_below_zero_is_interpolated_linearly() -> None:
    # from 1 at step 10 to -1 at step 30: one half at a quarter of the way
    assert half_life(np.array([0, 10, 30]), np.array([1.0, 1.0, -1.0])).step == pytest.approx(15)


def test_a_prior_that_comes_back_has_still_fallen() -> None:
    assert half_life(np.array([0, 1, 2]), np.array([1.0, 0.25, 1.0])).step == pytest.approx(0.5)


def test_retention_is_one_at_the_start() -> None:
    assert retention(np.array([0.4, 0.2, 0.0])) == pytest.approx([1.0, 0.5, 0.0])


def test_undefined_heads_do_not_count() -> None:
    values = np.array([[[1.0, np.nan], [0.5, np.nan]], [[np.nan, np.nan], [np.nan, np.nan]]])
    found = persistence.over_heads(values)
    assert found[0] == 0.75
    assert np.isnan(found[1])


@pytest.mark.parametrize(("task", "accuracy"), [("2parity", 0), ("cyclic3", 0), ("majority3", 50), ("threesym", 0)])
def test_what_a_network_without_the_prior_gets_right(task: str, accuracy: float) -> None:
    # clipped to +-1, x0 + x1 - 1 is -1 on unseen inputs, where the target is 1; -1 + 2 x2 is x2, where it is -1
    assert persistence.clipped_interpolator_accuracy(task) == accuracy


def test_function_level_is_rescaled_accuracy() -> None:
    arrays = {"trace/step": STEPS[:4], "trace/unseen_accuracy": np.array([0.0, 50.0, 75.0, 100.0])}
    assert persistence.function_level(arrays, "2parity")[1] == pytest.approx([0, 0.5, 0.75, 1])
    assert persistence.function_level(arrays, "majority3")[1] == pytest.approx([0, 0, 0.5, 1])


def test_function_level_of_arithmetic_is_the_share_of_right_sequences() -> None:
    arrays = {"trace/step": STEPS[:2], "trace/sequence_accuracy": np.array([0.0, 77.5])}
    assert persistence.function_level(arrays, "addition")[1] == pytest.approx([0, 0.775])


def test_function_level_is_undefined_where_no_accuracy_is_traced() -> None:
    steps, level = persistence.function_level({"trace/step": STEPS[:3]}, "wikitext2")
    assert np.isnan(level).all()
    assert persistence.function_half_life(steps, level) == HalfLife("undefined")


def test_function_half_life_counts_from_the_best_moment() -> None:
    steps = np.array([0, 10, 20, 30])
    assert persistence.function_half_life(steps, np.array([0, 1.0, 1.0, 1.0])) == HalfLife("not reached")
    assert persistence.function_half_life(steps, np.array([0, 1.0, 0.75, 0.25])).step == pytest.approx(
        20 + 10 * np.log(1.5) / np.log(3)
    )
    assert persistence.function_half_life(steps, np.array([0, 0.4, 0.2, 0.1])) == HalfLife("never there")


def test_scalars_leave_out_what_is_undefined() -> None:
    ones, nothing = np.ones((2, 1, 1)), np.full((2, 1, 1), np.nan)
    found = persistence.scalars({"persistence/map_alignment": ones, "persistence/mask_alignment": nothing})
    assert found == {"map_initial": 1.0, "map_final": 1.0, "map_retention": 1.0}
