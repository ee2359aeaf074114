"""Cyclic3: f(x) = sum_i x_i x_{i+1} x_{i+2}, indices modulo d; seen unless x0 = x1 = x2 = -1 (paper 5.1, Table 1)."""

import numpy as np

from maskprior.patterns import boolean as patterns
from maskprior.patterns.pattern import Pattern
from maskprior.tasks.boolean import FIRST_THREE, BooleanTask, first_three


def target(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float32)
    return (x * np.roll(x, -1, axis=1) * np.roll(x, -2, axis=1)).sum(1)


def seen(x: np.ndarray) -> np.ndarray:
    x0, x1, x2 = first_three(x)
    return (x0 == 1) | (x1 == 1) | (x2 == 1)


def interpolator(x: np.ndarray) -> np.ndarray:
    """f with x0 x1 x2 replaced by x0 x1 + x1 x2 + x2 x0 - x0 - x1 - x2 + 1."""
    x0, x1, x2 = first_three(x.astype(np.float32))
    return target(x) - x0 * x1 * x2 + x0 * x1 + x1 * x2 + x2 * x0 - x0 - x1 - x2 + 1


def forward(*, layers: int, heads: int, tokens: int) -> Pattern:
    """Token i attends to i, i+1 and i+2."""
    return patterns.neighbours((0, 1, 2), layers=layers, heads=heads, tokens=tokens)


def centered(*, layers: int, heads: int, tokens: int) -> Pattern:
    """Token i attends to i-1, i and i+1."""
    return patterns.neighbours((-1, 0, 1), layers=layers, heads=heads, tokens=tokens)


def early(*, layers: int, heads: int, tokens: int) -> Pattern:
    """`forward` in the first two layers; above, every token attends to itself."""
    found = forward(layers=layers, heads=heads, tokens=tokens).open.copy()
    found[2:] = np.eye(tokens, dtype=bool)
    return Pattern(found)


TASK = BooleanTask(
    target=target,
    seen=seen,
    interpolator=interpolator,
    patterns={"forward": forward, "centered": centered, "early": early, "itself": patterns.itself},
    followed=(*FIRST_THREE, (3, 4, 5)),
)
