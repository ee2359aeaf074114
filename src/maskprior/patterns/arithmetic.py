"""Patterns of the arithmetic tasks (paper 4.2, appendix E, figures 2 and 6; reconstructed from the text).

Tokens are the digits a2 a1 a0 b2 b1 b0. Every row has an open entry, for an all-closed row carries no prior.
"""

import numpy as np

from maskprior.config.arithmetic import DIGITS, TOKENS  # noqa: F401  (who takes a pattern takes its number of tokens)
from maskprior.patterns.pattern import Pattern, from_heads


def pattern(task: str, name: str, *, layers: int, heads: int) -> Pattern:
    """The pattern `name` of a task, (L, H, 6, 6).

    addition: `aligned` digits of equal significance attend to each other; `aligned_self` also to themselves; `carry`
    as aligned, and in the third head also to the next lower digit of both numbers.
    multiplication: `cross` every digit attends to all digits of the other number; `partial` as cross, and in the third
    head only to the one whose significances add up to 2 (one diagonal of partial products).
    """
    significance = np.tile(np.arange(DIGITS - 1, -1, -1), 2)
    number = np.repeat([0, 1], DIGITS)
    other = number[:, None] != number
    equal = significance[:, None] == significance
    if task == "addition":
        aligned = other & equal
        if name == "aligned_self":
            aligned = equal
        per_head = [aligned] * heads
        if name == "carry":
            per_head[2] = aligned | (significance[:, None] - 1 == significance)
    elif task == "multiplication":
        per_head = [other] * heads
        if name == "partial":
            per_head[2] = other & (significance[:, None] + significance == DIGITS - 1)
    else:
        raise ValueError(f"task: {task!r} has no arithmetic pattern")
    return from_heads(np.stack(per_head), layers)
