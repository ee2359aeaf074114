"""Addition: a + b, four digits (paper 5.2, Table 2)."""

from functools import partial

import numpy as np

from maskprior.patterns.arithmetic import DIGITS, EQUAL, ITSELF, OTHER, SIGNIFICANCE, every_head, shuffled, third_head
from maskprior.tasks.arithmetic import ArithmeticTask

ALIGNED = OTHER & EQUAL
NEXT_LOWER = SIGNIFICANCE[:, None] - 1 == SIGNIFICANCE
NEXT_OF_THE_OTHER = OTHER & ((SIGNIFICANCE[:, None] + 1) % DIGITS == SIGNIFICANCE)


def result(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a + b


# aligned: digits of equal significance attend to each other; aligned_self: also to themselves; carry: as aligned, and
# in the third head also to the next lower digit of both numbers. The last three are wrong, as controls.
TASK = ArithmeticTask(
    result=result,
    digits=4,
    patterns={
        "aligned": partial(every_head, ALIGNED),
        "aligned_self": partial(every_head, EQUAL),
        "carry": partial(third_head, ALIGNED, ALIGNED | NEXT_LOWER),
        "wrong_pair": partial(every_head, NEXT_OF_THE_OTHER),
        "itself": partial(every_head, ITSELF),
        "shuffled": shuffled,
    },
    by_carries=True,
)
