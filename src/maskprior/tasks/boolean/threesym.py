"""ThreeSym: f(x) = x0 x1 - 1.25 x1 x2 + 1.5 x2 x0, seen where x0 x1 x2 = 1 (paper 5.1, Table 1)."""

from functools import partial

import numpy as np

from maskprior.patterns import boolean as patterns
from maskprior.patterns.pattern import Pattern, from_heads
from maskprior.tasks.boolean import BooleanTask, first_three

PAIRS = ((0, 1), (1, 2), (0, 2))
WRONG_PAIRS = ((3, 4), (4, 5), (3, 5))


def target(x: np.ndarray) -> np.ndarray:
    x0, x1, x2 = first_three(x.astype(np.float32))
    return x0 * x1 - np.float32(1.25) * x1 * x2 + np.float32(1.5) * x2 * x0


def seen(x: np.ndarray) -> np.ndarray:
    x0, x1, x2 = first_three(x)
    return x0 * x1 * x2 == 1


def interpolator(x: np.ndarray) -> np.ndarray:
    """x2 - 1.25 x0 + 1.5 x1."""
    x0, x1, x2 = first_three(x.astype(np.float32))
    return x2 - np.float32(1.25) * x0 + np.float32(1.5) * x1


def one_pair_a_head(
    pairs: tuple[tuple[int, int], ...], *, layers: int, heads: int, tokens: int, with_self: bool = False
) -> Pattern:
    """Head h lets pair number h mod 3 attend to each other, every other token to itself."""
    chosen = [patterns.pair_map(pairs[head % 3], tokens, with_self=with_self) for head in range(heads)]
    return from_heads(np.stack(chosen), layers)


TASK = BooleanTask(
    target=target,
    seen=seen,
    interpolator=interpolator,
    patterns={
        "perm": partial(one_pair_a_head, PAIRS),
        "blockself": partial(one_pair_a_head, PAIRS, with_self=True),
        "wrong_pair": partial(one_pair_a_head, WRONG_PAIRS),
        "itself": patterns.itself,
        "shuffled": patterns.shuffled,
    },
)
