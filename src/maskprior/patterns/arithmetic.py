"""Patterns that arithmetic tasks are put together from (paper 4.2, appendix E, figures 2 and 6; after the text).

Tokens are the digits a2 a1 a0 b2 b1 b0. The relations are maps of one head, (6, 6); the others are whole patterns.
"""

import numpy as np

from maskprior.patterns.pattern import Pattern, from_heads

DIGITS = 3  # of each number
SHUFFLE = 0  # the seed of the permutation that `shuffled` draws, the same for all runs

SIGNIFICANCE = np.tile(np.arange(DIGITS - 1, -1, -1), 2)  # the power of ten of each token's digit
NUMBER = np.repeat([0, 1], DIGITS)  # which number each token's digit belongs to

OTHER = NUMBER[:, None] != NUMBER
EQUAL = SIGNIFICANCE[:, None] == SIGNIFICANCE
ITSELF = np.eye(2 * DIGITS, dtype=bool)


def every_head(head: np.ndarray, *, layers: int, heads: int) -> Pattern:
    """One head's map, (6, 6), in every layer and head: (L, H, 6, 6)."""
    return from_heads(np.stack([head] * heads), layers)


def third_head(head: np.ndarray, third: np.ndarray, *, layers: int, heads: int) -> Pattern:
    """One head's map everywhere but in the third head of each layer. ValueError for fewer than three heads."""
    if heads < 3:
        raise ValueError(f"this pattern speaks of the third head, and there are {heads}")
    return from_heads(np.stack([third if number == 2 else head for number in range(heads)]), layers)


def shuffled(*, layers: int, heads: int) -> Pattern:
    """A token attends to one token, which a random permutation names: as sparse as `aligned`, and about nothing."""
    order = np.random.default_rng(SHUFFLE).permutation(len(ITSELF))
    return every_head(ITSELF[order], layers=layers, heads=heads)
