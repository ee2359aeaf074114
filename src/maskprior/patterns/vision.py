"""The impulse pattern: each head looks at one place of the 3x3 neighbourhood (paper 5.3, figure 9)."""

from dataclasses import dataclass

import numpy as np

from maskprior.patterns.pattern import Pattern, from_heads

OFFSETS = tuple((row, column) for row in (-1, 0, 1) for column in (-1, 0, 1))
ORDERS = {"centre_first": (4, 1, 5, 3, 7, 0, 2, 6, 8), "raster": tuple(range(9))}


@dataclass(frozen=True)
class PatchPattern(Pattern):
    """A pattern over patches behind `prefix` tokens (the class token) of which it says nothing.

    A boolean array knows no third value, so the prefix's entries are closed; in M they are 0, as are the rows without
    an open entry. Otherwise the patches at the border, whose target lies outside, would all look at the class token.
    """

    prefix: int = 1

    def mask_logits(self, amplitude: float) -> np.ndarray:
        found = np.where(self.neutral_rows[..., None], np.float32(0), super().mask_logits(amplitude))
        found[..., : self.prefix] = 0
        return found


def pattern(order: str, *, layers: int, heads: int, side: int, prefix: int = 1) -> PatchPattern:
    """Head h lets patch (r, c) of the side x side grid see the patch at (r, c) + offset number k, (L, H, N, N).

    k = ORDERS[order][h mod 9]: `centre_first` is the order of the public code (with 3 heads centre, up, right),
    `raster` that of the grid. N = prefix + side^2. Nothing wraps around: a patch whose target lies outside the image
    sees nothing, which is a neutral row.
    """
    chosen = [OFFSETS[ORDERS[order][head % len(OFFSETS)]] for head in range(heads)]
    tokens = prefix + side**2
    found = np.zeros((heads, tokens, tokens), dtype=bool)
    found[:, prefix:, prefix:] = np.stack([shift(offset, side) for offset in chosen])
    return PatchPattern(from_heads(found, layers).open, prefix=prefix)


def shift(offset: tuple[int, int], side: int) -> np.ndarray:
    """Patch (r, c), row-major, to patch (r, c) + offset where that lies in the image: (side^2, side^2)."""
    down, right = offset
    return np.kron(np.eye(side, k=down, dtype=bool), np.eye(side, k=right, dtype=bool))
