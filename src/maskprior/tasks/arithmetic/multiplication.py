"""Multiplication: a b, six digits (paper 5.2, Table 2)."""

from functools import partial

import numpy as np

from maskprior.patterns.arithmetic import DIGITS, OTHER, SIGNIFICANCE, every_head, third_head
from maskprior.tasks.arithmetic import ArithmeticTask

ONE_DIAGONAL = OTHER & (SIGNIFICANCE[:, None] + SIGNIFICANCE == DIGITS - 1)


def result(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a * b


# cross: every digit attends to all digits of the other number; partial: as cross, and in the third head only to the
# digit whose significance adds up to 2 with its own (one diagonal of partial products).
TASK = ArithmeticTask(
    result=result,
    digits=6,
    patterns={"cross": partial(every_head, OTHER), "partial": partial(third_head, OTHER, ONE_DIAGONAL)},
)
