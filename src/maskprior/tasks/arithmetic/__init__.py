"""Arithmetic on two three-digit numbers, whose digits are the tokens a2 a1 a0 b2 b1 b0 (paper 5.2, appendix E).

Shapes: P pairs of numbers, K digits of the result; L layers, H heads, N = 6 tokens.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from maskprior.patterns.arithmetic import DIGITS
from maskprior.patterns.pattern import Pattern

TOKENS = 2 * DIGITS


@dataclass(frozen=True)
class ArithmeticTask:
    """An arithmetic task.

    Attributes:
        result: the result of each pair, int64: (P), (P) -> (P); not negative.
        digits: K, enough for every result.
        patterns: the attention that the task's structure asks for, by name; each gives (L, H, 6, 6) for the keywords
            layers and heads. A row that is all open or all closed carries no prior.
        by_carries: whether the accuracy is also reported by the number of carries.
    """

    result: Callable[[np.ndarray, np.ndarray], np.ndarray]
    digits: int
    patterns: Mapping[str, Callable[..., Pattern]]
    by_carries: bool = False
