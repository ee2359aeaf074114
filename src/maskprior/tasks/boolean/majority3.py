"""Majority3: f(x) = sign(x0 + x1 + x2), seen where x0 = 1 or x1 = 1 (paper 5.1, Table 1)."""

import numpy as np

from maskprior.patterns import boolean as patterns
from maskprior.patterns.pattern import Pattern, from_heads
from maskprior.tasks.boolean import BooleanTask, first_three


def target(x: np.ndarray) -> np.ndarray:
    x0, x1, x2 = first_three(x.astype(np.float32))
    return np.sign(x0 + x1 + x2)


def seen(x: np.ndarray) -> np.ndarray:
    x0, x1, _ = first_three(x)
    return (x0 == 1) | (x1 == 1)


def interpolator(x: np.ndarray) -> np.ndarray:
    """(x0 + x1 + 2 x2 - x0 x2 - x1 x2) / 2."""
    x0, x1, x2 = first_three(x.astype(np.float32))
    return (x0 + x1 + 2 * x2 - x0 * x2 - x1 * x2) / 2


def identity_first(*, layers: int, heads: int, tokens: int) -> Pattern:
    """The first three tokens attend to themselves; the other rows are all closed, which says nothing."""
    first = np.eye(tokens, dtype=bool) & (np.arange(tokens) < 3)[:, None]
    return from_heads(np.tile(first, (heads, 1, 1)), layers)


TASK = BooleanTask(
    target=target,
    seen=seen,
    interpolator=interpolator,
    patterns={"identity": patterns.itself, "identity_first": identity_first},
)
