"""Patterns that Boolean tasks are put together from (paper 4.2, appendix E, figures 2 and 6; after the text).

The smallest pieces are maps of one head, (N, N); the others are whole patterns, (L, H, N, N).
"""

import numpy as np

from maskprior.patterns.pattern import Pattern, from_heads

SHUFFLE = 0  # the seed of the permutation that `shuffled` draws, the same for all runs


def pair_map(chosen: tuple[int, int], tokens: int, *, with_self: bool = False) -> np.ndarray:
    """Two tokens attend to each other (and to themselves), every other token to itself: (N, N)."""
    i, j = chosen
    found = np.eye(tokens, dtype=bool)
    found[i, i] = found[j, j] = with_self
    found[i, j] = found[j, i] = True
    return found


def pair(chosen: tuple[int, int], *, layers: int, heads: int, tokens: int, with_self: bool = False) -> Pattern:
    """`pair_map` in every layer and head."""
    return everywhere(pair_map(chosen, tokens, with_self=with_self), layers=layers, heads=heads)


def itself(*, layers: int, heads: int, tokens: int) -> Pattern:
    """Every token attends to itself."""
    return everywhere(np.eye(tokens, dtype=bool), layers=layers, heads=heads)


def neighbours(offsets: tuple[int, ...], *, layers: int, heads: int, tokens: int) -> Pattern:
    """Token i attends to the tokens i + offset, the indices modulo N."""
    diagonal = np.eye(tokens, dtype=bool)
    local = np.logical_or.reduce([np.roll(diagonal, offset, axis=1) for offset in offsets])
    return everywhere(local, layers=layers, heads=heads)


def shuffled(*, layers: int, heads: int, tokens: int) -> Pattern:
    """Token i attends to one token, which a random permutation names: as sparse as a pair's map, and about nothing."""
    order = np.random.default_rng(SHUFFLE).permutation(tokens)
    return everywhere(np.eye(tokens, dtype=bool)[order], layers=layers, heads=heads)


def everywhere(head: np.ndarray, *, layers: int, heads: int) -> Pattern:
    """One head's map, (N, N), in every layer and head: (L, H, N, N)."""
    return from_heads(np.tile(head, (heads, 1, 1)), layers)
