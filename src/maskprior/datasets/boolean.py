"""Boolean extrapolation data (paper 5.1; the same functions and domains as Abbe et al. 2023, arXiv 2301.13105).

Inputs are rows of +-1, x_0 … x_{d-1}. A network sees the part of the cube where `seen` holds and is tested on all of
it. `interpolator` is the minimum-degree polynomial that agrees with the target on the seen part: what a network with
a low-degree bias extrapolates to. Numpy only; values are float32, inputs int8.
"""

import numpy as np

TASKS = ("2parity", "cyclic3", "majority3", "threesym")


def cube(dimension: int) -> np.ndarray:
    """All rows of {+1, -1}^d in lexicographic order (+1 first), int8, (2^d, d)."""
    index = np.arange(2**dimension)[:, None] >> np.arange(dimension - 1, -1, -1)
    return (1 - 2 * (index & 1)).astype(np.int8)


def target(task: str, x: np.ndarray) -> np.ndarray:
    """f(x): x0 x1; sum_i x_i x_{i+1} x_{i+2} (cyclic); sign(x0 + x1 + x2); x0 x1 - 1.25 x1 x2 + 1.5 x2 x0."""
    x = x.astype(np.float32)
    x0, x1, x2 = x[:, 0], x[:, 1], x[:, 2]
    if task == "2parity":
        return x0 * x1
    if task == "cyclic3":
        return _cyclic_terms(x).sum(1)
    if task == "majority3":
        return np.sign(x0 + x1 + x2)
    if task == "threesym":
        return x0 * x1 - np.float32(1.25) * x1 * x2 + np.float32(1.5) * x2 * x0
    raise ValueError(f"task: {task!r} is not one of {', '.join(TASKS)}")


def seen(task: str, x: np.ndarray) -> np.ndarray:
    """Whether a row may be trained on: x0 = 1 or x1 = 1; for cyclic3 also x2 = 1; for threesym x0 x1 x2 = 1."""
    x0, x1, x2 = x[:, 0], x[:, 1], x[:, 2]
    if task == "threesym":
        return x0 * x1 * x2 == 1
    if task == "cyclic3":
        return (x0 == 1) | (x1 == 1) | (x2 == 1)
    return (x0 == 1) | (x1 == 1)


def interpolator(task: str, x: np.ndarray) -> np.ndarray:
    """The minimum-degree interpolator of the seen part, on every row.

    2parity: x0 + x1 - 1. majority3: (x0 + x1 + 2 x2 - x0 x2 - x1 x2) / 2. threesym: x2 - 1.25 x0 + 1.5 x1.
    cyclic3: x0 x1 x2 is replaced by x0 x1 + x1 x2 + x2 x0 - x0 - x1 - x2 + 1.
    """
    x = x.astype(np.float32)
    x0, x1, x2 = x[:, 0], x[:, 1], x[:, 2]
    if task == "2parity":
        return x0 + x1 - 1
    if task == "majority3":
        return (x0 + x1 + 2 * x2 - x0 * x2 - x1 * x2) / 2
    if task == "threesym":
        return x2 - np.float32(1.25) * x0 + np.float32(1.5) * x1
    return target(task, x) - x0 * x1 * x2 + x0 * x1 + x1 * x2 + x2 * x0 - x0 - x1 - x2 + 1


def monomials(task: str) -> list[tuple[int, ...]]:
    """The monomials whose coefficients are followed: all subsets of {x0, x1, x2}, for cyclic3 also x3 x4 x5."""
    subsets: list[tuple[int, ...]] = [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    return [*subsets, (3, 4, 5)] if task == "cyclic3" else subsets


def monomial_name(monomial: tuple[int, ...]) -> str:
    return " ".join(f"x{i}" for i in monomial) or "1"


def characters(x: np.ndarray, found: list[tuple[int, ...]]) -> np.ndarray:
    """chi_S(x) = product of x_i over i in S, float32, (rows, K); a mean of f chi_S is a Fourier coefficient."""
    x = x.astype(np.float32)
    return np.stack([x[:, list(monomial)].prod(1) for monomial in found], axis=1)


def sampled_sets(task: str, *, dimension: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
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
        rows = rows[seen(task, rows)]
        while len(rows) < size:
            more = draw(size // 2)
            rows = np.concatenate([rows, more[seen(task, more)]])
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


def _cyclic_terms(x: np.ndarray) -> np.ndarray:
    return x * np.roll(x, -1, axis=1) * np.roll(x, -2, axis=1)
