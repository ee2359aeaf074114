"""The minimum-degree interpolator: what a network with a bias to low degrees makes of the part of the cube it sees.

Of all polynomials in x_0 … x_{d-1} that agree with f on the seen part it is the one whose coefficients of degree d have
the least sum of squares; of those, the one whose coefficients of degree d - 1 have; and so on (Abbe et al. 2023,
arXiv 2301.13105, the minimum degree-profile interpolator). For the paper's tasks it is unique and their formula.
"""

import itertools
from collections.abc import Callable

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]
MOST_VARIABLES = 10
TOLERANCE = 1e-9


def minimum_degree_interpolator(target: Function, seen: Function, dimension: int) -> Function:
    """The interpolator as a function of rows, (R, d) -> (R), computed in the variables that f or `seen` depends on.

    ValueError where these are more than 10: the fit has 2^variables unknowns. Such a task states its formula.
    """
    variables = relevant_variables(target, seen, dimension)
    if len(variables) > MOST_VARIABLES:
        raise ValueError(
            f"the interpolator cannot be computed: the task depends on {len(variables)} variables, and at most "
            f"{MOST_VARIABLES} are possible; give BooleanTask the formula, `interpolator`"
        )
    rows = np.ones((2 ** len(variables), dimension), dtype=np.int8)
    rows[:, variables] = np.array(list(itertools.product((1, -1), repeat=len(variables))), dtype=np.int8)
    monomials = [subset for degree in range(len(variables) + 1) for subset in itertools.combinations(variables, degree)]
    known = seen(rows)
    values = np.asarray(target(rows), dtype=np.float64)[known]
    coefficients = least_degrees(_characters(rows, monomials)[known], values, [len(subset) for subset in monomials])

    def interpolator(x: np.ndarray) -> np.ndarray:
        return (_characters(x, monomials) @ coefficients).astype(np.float32)

    return interpolator


def relevant_variables(target: Function, seen: Function, dimension: int) -> list[int]:
    """The variables whose flip changes f or `seen` somewhere on the cube; tried on 4,096 rows of a larger cube."""
    index = np.arange(2**dimension) if dimension <= 12 else np.random.default_rng(0).integers(0, 2**dimension, 4096)
    rows = (1 - 2 * (index[:, None] >> np.arange(dimension) & 1)).astype(np.int8)
    found = []
    for variable in range(dimension):
        flipped = rows.copy()
        flipped[:, variable] *= -1
        if (target(flipped) != target(rows)).any() or (seen(flipped) != seen(rows)).any():
            found.append(variable)
    return found


def least_degrees(features: np.ndarray, values: np.ndarray, degrees: list[int]) -> np.ndarray:
    """c with features c = values whose squares are least at the highest degree, then at the next below, …: (K).

    `features` (R, K), `values` (R), `degrees` of the K columns. Each step solves a least-squares problem within what
    the steps before it left free.
    """
    solution = np.linalg.lstsq(features, values, rcond=None)[0]
    free = null_space(features)
    for degree in sorted(set(degrees), reverse=True):
        if not free.shape[1]:
            break
        part = np.array(degrees) == degree
        step = np.linalg.lstsq(free[part], -solution[part], rcond=None)[0]
        solution = solution + free @ step
        free = free @ null_space(free[part])
    return np.where(np.abs(solution) < TOLERANCE, 0.0, solution)


def null_space(matrix: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the z with matrix z = 0: (R, K) -> (K, what is free)."""
    _, singular, rows = np.linalg.svd(matrix)
    rank = int((singular > TOLERANCE * max(matrix.shape)).sum())
    return rows[rank:].T


def _characters(x: np.ndarray, monomials: list[tuple[int, ...]]) -> np.ndarray:
    """Each monomial's value on every row: (R, d) -> (R, K)."""
    return np.stack([x[:, list(subset)].astype(np.float64).prod(1) for subset in monomials], axis=1)
