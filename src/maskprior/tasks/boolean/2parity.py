"""2Parity: f(x) = x0 x1, seen where x0 = 1 or x1 = 1 (paper 5.1, Table 1)."""

from functools import partial

import numpy as np

from maskprior.patterns import boolean as patterns
from maskprior.patterns.pattern import Pattern
from maskprior.tasks.boolean import BooleanTask, first_three


def target(x: np.ndarray) -> np.ndarray:
    x0, x1, _ = first_three(x.astype(np.float32))
    return x0 * x1


def seen(x: np.ndarray) -> np.ndarray:
    x0, x1, _ = first_three(x)
    return (x0 == 1) | (x1 == 1)


def interpolator(x: np.ndarray) -> np.ndarray:
    """x0 + x1 - 1."""
    x0, x1, _ = first_three(x.astype(np.float32))
    return x0 + x1 - 1


def layered(*, layers: int, heads: int, tokens: int) -> Pattern:
    """x0 and x1 attend to each other in the first layer; above, every token attends to itself."""
    first = patterns.pair((0, 1), layers=1, heads=heads, tokens=tokens).open
    return Pattern(np.concatenate([first, patterns.itself(layers=layers - 1, heads=heads, tokens=tokens).open]))


TASK = BooleanTask(
    target=target,
    seen=seen,
    interpolator=interpolator,
    patterns={
        "perm": partial(patterns.pair, (0, 1)),
        "blockself": partial(patterns.pair, (0, 1), with_self=True),
        "layered": layered,
        "wrong_pair": partial(patterns.pair, (3, 4)),
        "itself": patterns.itself,
        "shuffled": patterns.shuffled,
    },
)
