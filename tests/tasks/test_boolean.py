import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskprior import tasks as known_tasks
from maskprior.datasets import boolean
from maskprior.tasks import interpolation
from maskprior.tasks.boolean import BooleanTask

# Exact values on the whole cube of 15 bits: MSE, sign accuracy, accuracy within 0.5, and the seen fraction.
MDI_SCORES = {
    "2parity": (4.0, 75.0, 75.0, 3 / 4),
    "cyclic3": (8.0, 92.83, 87.5, 7 / 8),
    "majority3": (1.0, 87.5, 75.0, 3 / 4),
    "threesym": (9.625, 50.0, 50.0, 1 / 2),
}
TASKS = known_tasks.names("boolean")
tasks = pytest.mark.parametrize("task", TASKS)


def named(task: str) -> BooleanTask:
    found: BooleanTask = known_tasks.find("boolean", task)
    return found


def test_cube_by_hand():
    assert boolean.cube(2).tolist() == [[1, 1], [1, -1], [-1, 1], [-1, -1]]


def test_cube_has_every_row_once():
    cube = boolean.cube(10)
    assert cube.dtype == np.int8
    assert cube.shape == (1024, 10)
    assert len(np.unique(cube, axis=0)) == 1024


def test_targets_by_hand():
    x = np.array([[1, -1, -1, 1, -1], [-1, -1, 1, 1, 1]], dtype=np.int8)
    assert named("2parity").target(x).tolist() == [-1, 1]
    assert named("majority3").target(x).tolist() == [-1, -1]
    assert named("threesym").target(x).tolist() == [-1 - 1.25 - 1.5, 1 + 1.25 - 1.5]
    # first row: x0x1x2 + x1x2x3 + x2x3x4 + x3x4x0 + x4x0x1 = 1 + 1 + 1 - 1 + 1
    assert named("cyclic3").target(x).tolist() == [3, 1 - 1 + 1 - 1 + 1]


@tasks
def test_targets_and_interpolators_are_float32(task):
    x = boolean.cube(6)
    assert named(task).target(x).dtype == named(task).interpolate(x).dtype == np.float32
    assert named(task).seen(x).dtype == bool


def test_seen_by_hand():
    eight = boolean.cube(3)
    for task, unseen in {
        "2parity": [(-1, -1, 1), (-1, -1, -1)],
        "majority3": [(-1, -1, 1), (-1, -1, -1)],
        "cyclic3": [(-1, -1, -1)],
        "threesym": [(1, 1, -1), (1, -1, 1), (-1, 1, 1), (-1, -1, -1)],
    }.items():
        assert {tuple(row) for row in eight[~named(task).seen(eight)].tolist()} == set(unseen)


@tasks
def test_interpolator_is_the_target_on_seen_and_scores_as_enumerated(task):
    x = boolean.cube(15)
    target, found, seen = named(task).target(x), named(task).interpolate(x), named(task).seen(x)
    mse, sign, within, fraction = MDI_SCORES[task]
    assert np.array_equal(found[seen], target[seen])
    assert np.mean((found - target) ** 2) == pytest.approx(mse, rel=1e-6)
    assert 100 * np.mean(np.sign(found) == np.sign(target)) == pytest.approx(sign, abs=0.005)
    assert 100 * np.mean(np.abs(found - target) < 0.5) == within
    assert seen.mean() == fraction


def minimum_degree_interpolator(target: np.ndarray, seen: np.ndarray, dimension: int) -> np.ndarray:
    """Fourier coefficients of the interpolator of least degree profile, from nothing but its definition.

    All interpolators are c0 + Z t. From the highest degree down, the weight on the degree is minimised, and the
    freedom that is left (the null space of that degree's rows) goes on to the next.
    """
    subsets = [s for k in range(dimension + 1) for s in itertools.combinations(range(dimension), k)]
    characters = np.stack([boolean.cube(dimension)[:, list(s)].astype(float).prod(1) for s in subsets], axis=1)
    degree = np.array([len(s) for s in subsets])
    found = np.linalg.lstsq(characters[seen], target[seen], rcond=None)[0]
    freedom = null_space(characters[seen])
    for k in range(dimension, -1, -1):
        if freedom.shape[1] == 0:
            break
        rows = freedom[degree == k]
        found = found - freedom @ np.linalg.lstsq(rows, found[degree == k], rcond=None)[0]
        freedom = freedom @ null_space(rows)
    return characters @ found


def null_space(matrix: np.ndarray) -> np.ndarray:
    _, s, vh = np.linalg.svd(matrix)
    return vh[int((s > 1e-9).sum()) :].T


@tasks
@pytest.mark.parametrize("dimension", [5, 6])
def test_interpolator_has_the_least_degree_profile(task, dimension):
    x = boolean.cube(dimension)
    expected = minimum_degree_interpolator(named(task).target(x).astype(float), named(task).seen(x), dimension)
    np.testing.assert_allclose(named(task).interpolate(x), expected, atol=1e-9)


@tasks
def test_followed_monomials_tell_target_and_interpolator_apart(task):
    """The followed coefficients hold all of both functions' difference, by Parseval."""
    x = boolean.cube(8)
    difference = named(task).target(x) - named(task).interpolate(x)
    coefficients = difference @ boolean.characters(x, named(task).followed) / len(x)
    assert np.sum(coefficients**2) == pytest.approx(np.mean(difference**2))


def test_characters_are_orthonormal_and_named():
    x = boolean.cube(8)
    for task in TASKS:
        found = boolean.characters(x, named(task).followed)
        np.testing.assert_allclose(found.T @ found / len(x), np.eye(found.shape[1]), atol=1e-7)
    assert [boolean.monomial_name(m) for m in [(), (1,), (0, 2)]] == ["1", "x1", "x0 x2"]


def test_parity_coefficients_by_hand():
    """x0 x1 has the one coefficient x0x1; its interpolator x0 + x1 - 1 has three."""
    x = boolean.cube(5)
    monomials = named("2parity").followed
    for values, expected in [
        (named("2parity").target(x), {(0, 1): 1}),
        (named("2parity").interpolate(x), {(0,): 1, (1,): 1, (): -1}),
    ]:
        found = values @ boolean.characters(x, monomials) / len(x)
        assert found.tolist() == [expected.get(m, 0) for m in monomials]


@pytest.mark.parametrize(("seed", "accuracy"), list(enumerate([87.3962, 87.26, 87.34, 87.63, 87.41, 87.19])))
def test_published_test_set_of_majority(seed, accuracy):
    """x2 on the unseen part and the target on the seen part: 87.40 in the paper is the sampled test set of seed 0."""
    _, test = boolean.sampled_sets(named("majority3").seen, dimension=15, size=32768, seed=seed)
    target = named("majority3").target(test)
    answer = np.where(named("majority3").seen(test), target, test[:, 2])
    assert 100 * np.mean(answer == target) == pytest.approx(accuracy, abs=5e-5 if seed == 0 else 6e-3)


@given(task=st.sampled_from(TASKS), seed=st.integers(0, 1000), size=st.sampled_from([2, 64, 257]))
@settings(max_examples=30, deadline=None)
def test_sampled_sets_train_on_the_seen_part(task, seed, size):
    train, test = boolean.sampled_sets(named(task).seen, dimension=7, size=size, seed=seed)
    assert train.shape == test.shape == (size, 7)
    assert train.dtype == test.dtype == np.int8
    assert named(task).seen(train).all()
    assert set(np.unique(np.concatenate([train, test]))) <= {-1, 1}


def test_sampled_test_set_covers_the_unseen_part():
    _, test = boolean.sampled_sets(named("majority3").seen, dimension=15, size=32768, seed=0)
    assert named("majority3").seen(test).mean() == pytest.approx(0.75, abs=0.01)


def test_probe_is_balanced_and_the_same_for_all():
    probe = boolean.probe_rows(15, 64)
    assert probe.shape == (512, 15)
    assert np.array_equal(probe, boolean.probe_rows(15, 64))
    heads, counts = np.unique(probe[:, :3], axis=0, return_counts=True)
    assert len(heads) == 8
    assert (counts == 64).all()
    # Every head has the same completions, so nothing in x0, x1, x2 correlates with the other bits.
    assert all(np.array_equal(block[:, 3:], probe[:64, 3:]) for block in probe.reshape(8, 64, 15))
    subsets = [s for k in range(4) for s in itertools.combinations(range(3), k)]
    assert boolean.characters(probe, subsets).mean(0).tolist() == [1, *[0] * 7]


@tasks
def test_probe_holds_the_domains_share_of_seen(task):
    assert named(task).seen(boolean.probe_rows(15, 16)).mean() == MDI_SCORES[task][3]


def test_unknown_task():
    with pytest.raises(ValueError, match=r"4parity.*2parity"):
        named("4parity").target(boolean.cube(4))


@tasks
def test_the_computed_interpolator_is_the_formula(task):
    """The fit knows the task's values on the seen part and nothing of its formula."""
    learned, x = named(task), boolean.cube(6)
    found = interpolation.minimum_degree_interpolator(learned.target, learned.seen, 6)(x)
    np.testing.assert_allclose(found, learned.interpolate(x), atol=1e-5)


def test_a_task_without_a_formula_gets_the_computed_interpolator():
    """x0 x1 x2, seen unless all three are -1: of degree 2 it is x0 x1 + x1 x2 + x2 x0 - x0 - x1 - x2 + 1."""
    product = BooleanTask(
        target=lambda x: x[:, :3].astype(np.float32).prod(1), seen=lambda x: (x[:, :3] == 1).any(1), patterns={}
    )
    x = boolean.cube(8)
    x0, x1, x2 = (x[:, i].astype(np.float64) for i in range(3))
    expected = x0 * x1 + x1 * x2 + x2 * x0 - x0 - x1 - x2 + 1
    np.testing.assert_allclose(product.interpolate(x), expected, atol=1e-5)


@given(seed=st.integers(0, 10_000), rows=st.integers(1, 16))
@settings(max_examples=40, deadline=None)
def test_the_interpolator_agrees_where_it_must_and_no_lower_degree_does(seed, rows):
    """Against an independent search: the least degree whose polynomials can agree with a random f on a random part."""
    random = np.random.default_rng(seed)
    values, part = random.standard_normal(16), np.zeros(16, dtype=bool)
    part[random.choice(16, rows, replace=False)] = True
    cube = boolean.cube(4).astype(np.float64)
    monomials = [s for degree in range(5) for s in itertools.combinations(range(4), degree)]
    features = np.stack([cube[:, list(s)].prod(1) for s in monomials], axis=1)
    degrees = [len(s) for s in monomials]
    found = interpolation.least_degrees(features[part], values[part], degrees)
    np.testing.assert_allclose(features[part] @ found, values[part], atol=1e-8)
    for degree in range(5):
        below = features[part][:, np.array(degrees) <= degree]
        fit = below @ np.linalg.lstsq(below, values[part], rcond=None)[0]
        if np.allclose(fit, values[part], atol=1e-8):
            break
    assert max(d for d, c in zip(degrees, found, strict=True) if abs(c) > 1e-7) <= degree


def test_a_task_of_too_many_variables_asks_for_its_formula():
    with pytest.raises(ValueError, match="depends on 12 variables"):
        interpolation.minimum_degree_interpolator(lambda x: x.sum(1), lambda x: x[:, 0] == 1, 12)
