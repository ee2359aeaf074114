"""Boolean extrapolation data (paper 5.1; the same functions and domains as Abbe et al. 2023, arXiv 2301.13105).

Inputs are rows of +-1, x_0 … x_{d-1}, int8. A network sees the part of the cube where the task's `seen` holds and is
tested on all of it. The tasks themselves are in tasks/boolean. Numpy only.
"""

from collections.abc import Callable, Sequence

import numpy as np


def cube(dimension: int) -> np.ndarray:
    """All rows of {+1, -1}^d in lexicographic order (+1 first), int8, (2^d, d)."""
    index = np.arange(2**dimension)[:, None] >> np.arange(dimension - 1, -1, -1)
    return (1 - 2 * (index & 1)).astype(np.int8)


def monomial_name(monomial: tuple[int, ...]) -> str:
    return " ".join(f"x{i}" for i in monomial) or "1"


def characters(x: np.ndarray, found: Sequence[tuple[int, ...]]) -> np.ndarray:
    """chi_S(x) = product of x_i over i in S, float32, (rows, K); a mean of f chi_S is a Fourier coefficient."""
    x = x.astype(np.float32)
    return np.stack([x[:, list(monomial)].prod(1) for monomial in found], axis=1)


def sampled_sets(
    seen: Callable[[np.ndarray], np.ndarray], *, dimension: int, size: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Training rows (all seen) and test rows (uniform), each (size, d), drawn as the experiment's origin does.

    One stream of fair bits: `size` rows of which the seen ones are kept, then `size` / 2 at a time until enough; the
    same again for a validation set, which nothing here uses; then the test rows. Seed 0 reproduces the published
    test set: predicting x2 on the unseen part of majority3 scores 87.3962 % there, printed as 87.40.
    """
    stream = np.random.RandomState(seed)

    def draw(rows: int) -> np.ndarray:
        return (1 - 2 * stream.binomial(1, 0.5, size=(rows, dimension))).astype(np.int8)

    def draw_seen() -> np.ndarray:
        rows = draw(size)
        rows = rows[seen(rows)]
        while len(rows) < size:
            more = draw(size // 2)
            rows = np.concatenate([rows, more[seen(more)]])
        return rows[:size]

    train = draw_seen()
    draw_seen()
    return train, draw(size)


def probe_rows(dimension: int, completions: int) -> np.ndarray:
    """All 8 values of (x0, x1, x2), each with the same random completions: (8 completions, d), the same for every run.

    Balanced in the three variables that decide seen and unseen, so coefficients in them carry no sampling noise from
    each other.
    """
    rest = np.random.RandomState(0).binomial(1, 0.5, size=(completions, dimension - 3))
    heads = np.repeat(cube(3), completions, axis=0)
    return np.concatenate([heads, np.tile(1 - 2 * rest, (8, 1)).astype(np.int8)], axis=1)
