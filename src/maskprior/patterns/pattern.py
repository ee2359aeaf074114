"""A pattern: which token may attend to which, per layer and head. The prior itself, whatever carries it."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Pattern:
    """Boolean array `open`, (L layers, H heads, N tokens, N tokens): row i may attend to column j."""

    open: np.ndarray

    def __post_init__(self) -> None:
        if self.open.dtype != bool or self.open.ndim != 4 or self.open.shape[2] != self.open.shape[3]:
            raise ValueError(f"a pattern is boolean of shape (L, H, N, N), got {self.open.dtype} {self.open.shape}")

    @property
    def neutral_rows(self) -> np.ndarray:
        """Rows all open or all closed, (L, H, N): softmax ignores a shift of its row, so they say nothing."""
        return self.open.all(-1) | ~self.open.any(-1)  # type: ignore[return-value]

    def mask_logits(self, amplitude: float) -> np.ndarray:
        """M: +amplitude where open, -amplitude where closed; float32, (L, H, N, N)."""
        return np.where(self.open, np.float32(amplitude), np.float32(-amplitude))

    def target_map(self) -> np.ndarray:
        """The attention the pattern asks for, float32: each row spread evenly over its open entries."""
        rows = np.where(self.open.any(-1, keepdims=True), self.open, True).astype(np.float32)
        return rows / rows.sum(-1, keepdims=True)


def from_heads(heads: np.ndarray, layers: int) -> Pattern:
    """The same heads, (H, N, N), in every layer."""
    return Pattern(np.repeat(heads[None], layers, axis=0))
