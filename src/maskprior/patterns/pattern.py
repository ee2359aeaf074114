"""A pattern: which token may attend to which, per layer and head. The prior itself, whatever carries it."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Pattern:
    """Boolean array `open`, (L layers, H heads, N tokens, N tokens): row i may attend to column j.

    In a `causal` model only entries j <= i exist: everything below is said and measured among them. A graded prior,
    which prefers some entries to others by degrees, is the attention map it asks for, `graded`, (L, H, N, N), with
    rows that sum to 1; `open` then holds the entries it prefers most. Of the first `prefix` tokens (a class token) the
    pattern says nothing.
    """

    open: np.ndarray
    causal: bool = False
    graded: np.ndarray | None = None
    prefix: int = 0

    def __post_init__(self) -> None:
        if self.open.dtype != bool or self.open.ndim != 4 or self.open.shape[2] != self.open.shape[3]:
            raise ValueError(f"a pattern is boolean of shape (L, H, N, N), got {self.open.dtype} {self.open.shape}")
        if (self.open & ~self.visible).any():
            raise ValueError("a causal pattern has no open entry above the diagonal")
        if self.graded is not None and self.graded.shape != self.open.shape:
            raise ValueError(f"the graded map has the pattern's shape {self.open.shape}, got {self.graded.shape}")

    @property
    def visible(self) -> np.ndarray:
        """The entries that exist, (N, N): all of them, or those of tokens no later than the row's."""
        everything = np.ones(self.open.shape[2:], dtype=bool)
        return np.tril(everything) if self.causal else everything

    @property
    def neutral_rows(self) -> np.ndarray:
        """Rows all open or all closed, (L, H, N): softmax ignores a shift of its row, so they say nothing."""
        return (self.open | ~self.visible).all(-1) | ~self.open.any(-1)

    def mask_logits(self, amplitude: float) -> np.ndarray:
        """M: +amplitude where open, -amplitude where closed; float32, (L, H, N, N)."""
        return np.where(self.open, np.float32(amplitude), np.float32(-amplitude))

    def without_prefix(self) -> "Pattern":
        """The pattern among the tokens that it speaks of."""
        return Pattern(self.open[..., self.prefix :, self.prefix :]) if self.prefix else self

    def target_map(self) -> np.ndarray:
        """The attention the pattern asks for, float32: the graded map, else each row evenly over its open entries."""
        if self.graded is not None:
            return self.graded.astype(np.float32)
        rows = np.where(self.open.any(-1, keepdims=True), self.open, self.visible).astype(np.float32)
        return rows / rows.sum(-1, keepdims=True)


def from_heads(heads: np.ndarray, layers: int) -> Pattern:
    """The same heads, (H, N, N), in every layer."""
    return Pattern(np.repeat(heads[None], layers, axis=0))
