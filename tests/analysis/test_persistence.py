"""Retention and half-lives of constructed decays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskprior import tasks
from maskprior.analysis import persistence
from maskprior.analysis.persistence import HalfLife, half_life, retention
from maskprior.datasets import boolean

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
    aligned = np.array([0.9, 0.5, 0.2])
    assert np.isnan(retention(aligned, strength=0.2)).all()
    assert half_life(STEPS[:3], retention(aligned, strength=0.2)) == HalfLife("never there")
    assert half_life(STEPS[:3], retention(aligned, strength=np.nan)) == HalfLife("never there")
    # a mask's prior is in the map and not in the query-key logits
    assert half_life(STEPS[:3], retention(np.array([0.2, 0.5, 0.9]), strength=1.0)) == HalfLife("never there")
    assert half_life(STEPS[:3], retention(np.array([np.nan, 0.5, 0.9]), strength=1.0)) == HalfLife("never there")


def test_a_fall_below_zero_is_interpolated_linearly() -> None:
    # from 1 at step 10 to -1 at step 30: one half at a quarter of the way
    assert half_life(np.array([0, 10, 30]), np.array([1.0, 1.0, -1.0])).step == pytest.approx(15)


def test_a_prior_that_comes_back_has_still_fallen() -> None:
    assert half_life(np.array([0, 1, 2]), np.array([1.0, 0.25, 1.0])).step == pytest.approx(0.5)


def test_retention_is_one_at_the_start() -> None:
    assert retention(np.array([0.4, 0.2, 0.0]), strength=1.0) == pytest.approx([1.0, 0.5, 0.0])


def test_undefined_heads_do_not_count() -> None:
    values = np.array([[[1.0, np.nan], [0.5, np.nan]], [[np.nan, np.nan], [np.nan, np.nan]]])
    found = persistence.over_heads(values)
    assert found[0] == 0.75
    assert np.isnan(found[1])


@pytest.mark.parametrize(
    ("task", "loss"),
    # clipped to +-1, x0 + x1 - 1 is -1 on unseen inputs, where the target is 1; -1 + 2 x2 is x2, where it is -1: half
    # of them are off by 2
    [("2parity", 4), ("majority3", 2)],
)
def test_what_a_network_without_the_prior_says(task: str, loss: float) -> None:
    assert persistence.clipped_interpolator_loss(task, 9) == loss


@pytest.mark.parametrize("task", ["cyclic3", "threesym"])
def test_clipping_makes_the_interpolator_no_worse(task: str) -> None:
    x = boolean.cube(9)
    learned = tasks.find("boolean", task)
    x = x[~learned.seen(x)]
    unclipped = ((learned.interpolate(x) - learned.target(x)) ** 2).mean()
    assert 0 < persistence.clipped_interpolator_loss(task, 9) <= unclipped


def test_function_level_is_one_minus_the_relative_error() -> None:
    # errors of 2, 1 and 0 where the interpolator is off by 2; an error of 4 is no function either
    arrays = {"trace/step": STEPS[:4], "trace/unseen_loss": np.array([16.0, 4.0, 1.0, 0.0])}
    assert persistence.function_level(arrays, "2parity", 9)[1] == pytest.approx([0, 0, 0.5, 1])
    # a mean answer of 0.17 everywhere: right in sign, an error of 0.83 of 2
    arrays["trace/unseen_loss"] = np.full(4, 0.83**2)
    assert persistence.function_level(arrays, "2parity", 15)[1] == pytest.approx(1 - 0.83 / 2)


def test_function_level_of_arithmetic_is_the_share_of_right_sequences() -> None:
    arrays = {"trace/step": STEPS[:2], "trace/sequence_accuracy": np.array([0.0, 77.5])}
    assert persistence.function_level(arrays, "addition")[1] == pytest.approx([0, 0.775])


def test_function_level_is_undefined_where_nothing_is_traced() -> None:
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
    # right by accident at first, and for good at the end
    assert persistence.function_half_life(steps, np.array([1.0, 0.1, 0.8, 1.0])) == HalfLife("not reached")


def state(open_mass: tuple[float, float], **changes: object) -> dict[str, np.ndarray]:
    """Two looks at one layer, two heads and a pattern with one open entry in each of four rows."""
    nothing = np.full((2, 1, 2), np.nan)
    arrays = {
        "persistence/open_mass": np.broadcast_to(np.array(open_mass)[:, None, None], (2, 1, 2)),
        "persistence/open_fraction": np.full((2, 1, 2), 0.25),
        "persistence/mask_gap": nothing,
        "persistence/query_key_gap": np.array([4.0, 1.0])[:, None, None] * np.ones((1, 1, 2)),
        "maps/attention_initial": np.full((1, 2, 4, 4), 0.25, dtype=np.float16),
        "maps/attention_final": np.full((1, 2, 4, 4), 0.25, dtype=np.float16),
    }
    return arrays | changes  # type: ignore[return-value]


def test_strength_is_the_attention_on_open_entries_beyond_chance() -> None:
    assert persistence.strength(state((1.0, 0.25))) == pytest.approx((1.0, 0.0))
    # a mask of amplitude a with one open entry of 15: e^a of e^a + 14
    mass = np.exp([1.0, 2.0]) / (np.exp([1.0, 2.0]) + 14)
    arrays = state(tuple(mass)) | {"persistence/open_fraction": np.full((2, 1, 2), 1 / 15)}
    assert persistence.strength(arrays) == pytest.approx((0.103, 0.299), abs=5e-4)


def test_strength_of_a_map_that_does_not_sum_to_one() -> None:
    # Hadamard: a quarter of a uniform row is left, all of it on the open entry
    masked = np.full((1, 2, 4, 4), 0.0625, dtype=np.float16)
    arrays = state((0.25, 0.125), **{"maps/attention_initial": masked, "maps/attention_final": masked})
    assert persistence.strength(arrays) == pytest.approx((1.0, 1 / 3))


def test_strength_needs_no_maps_of_a_record_that_keeps_none_or_those_of_some_layers() -> None:
    arrays = state((1.0, 0.625))
    without = {name: values for name, values in arrays.items() if not name.startswith("maps/")}
    two_layers = np.full((2, 2, 4, 4), 0.0625, dtype=np.float16)
    some = without | {"maps/attention_final": two_layers}
    assert persistence.strength(without) == persistence.strength(some) == pytest.approx((1.0, 0.5))


def test_an_aligned_map_without_strength_has_nothing_to_retain() -> None:
    aligned = np.array([0.6, 0.1])[:, None, None] * np.ones((1, 1, 2))
    found = persistence.scalars(state((0.3, 0.3), **{"persistence/map_alignment": aligned}))
    assert (found["map_initial"], found["strength_initial"]) == pytest.approx((0.6, 1 / 15))
    assert not any(name.endswith("_retention") for name in found)


def test_scalars_leave_out_what_is_undefined() -> None:
    ones, nothing = np.ones((2, 1, 2)), np.full((2, 1, 2), np.nan)
    arrays = state((1.0, 0.625), **{"persistence/map_alignment": ones, "persistence/mask_alignment": nothing})
    assert persistence.scalars(arrays) == {
        "map_initial": 1.0, "map_final": 1.0, "map_retention": 1.0,
        "strength_initial": 1.0, "strength_final": 0.5, "strength_retention": 0.5,
        "gap_initial": 4.0, "gap_final": 1.0, "gap_retention": 0.25,
    }  # fmt: skip


def test_the_gap_is_that_of_the_mask_where_there_is_one() -> None:
    in_mask = np.array([10.0, 9.0])[:, None, None] * np.ones((1, 1, 2))
    assert persistence.gap(state((1.0, 1.0), **{"persistence/mask_gap": in_mask})).tolist() == [10.0, 9.0]
    assert persistence.gap(state((1.0, 1.0))).tolist() == [4.0, 1.0]
