"""The distance priors of the language experiment: a token attends the less to another, the longer ago it was.

Shapes: L layers, H heads, N tokens. Entries j > i are the future: they exist in M, at 0, and count nowhere.
"""

from dataclasses import dataclass

import numpy as np

from maskprior.patterns.pattern import Pattern


@dataclass(frozen=True)
class DistancePattern(Pattern):
    """A prior over distances. Its M, `logits`, (H, N, N), is given entry by entry and is the same in every layer."""

    logits: np.ndarray | None = None

    def mask_logits(self, amplitude: float) -> np.ndarray:
        """`amplitude` times M; float32, (L, H, N, N)."""
        assert self.logits is not None
        return np.tile(np.float32(amplitude) * self.logits, (len(self.open), 1, 1, 1))


def distances(tokens: int) -> np.ndarray:
    """max(i - j, 0), float64, (N, N)."""
    position = np.arange(tokens, dtype=np.float64)
    return np.maximum(position[:, None] - position, 0)


def alibi_slopes(heads: int) -> np.ndarray:
    """The slope of head h of ALiBi (Press et al. 2022, arXiv 2108.12409): 2^(-8 h / H), h from 1 to H; (H,)."""
    return 2.0 ** (-8 * np.arange(1, heads + 1) / heads)


def mask_logits(name: str, *, heads: int, tokens: int, scale: float) -> np.ndarray:
    """M of a prior, float32, (H, N, N); the bias of the attention is log sigmoid(scale M).

    distance: M_ij = -max(i - j, 0), the paper's, the same in all heads.
    alibi: the M whose bias is -m_h max(i - j, 0) - log 2 with ALiBi's slopes m_h: ALiBi itself, but for a shift of each
    row, which changes nothing; M is 0 on the diagonal, as in the paper's.
    """
    distance = np.broadcast_to(distances(tokens), (heads, tokens, tokens))
    if name == "distance":
        found = -distance
    elif name == "alibi":
        decay = np.exp(-alibi_slopes(heads)[:, None, None] * distance)
        found = np.log(decay / (2 - decay)) / scale
    else:
        raise ValueError(f"prior: {name!r} is not a prior of the language experiment")
    return found.astype(np.float32)


def pattern(name: str, *, layers: int, heads: int, tokens: int, scale: float) -> DistancePattern:
    """The prior as a causal, graded pattern, the same in every layer.

    The map it asks for is its own: softmax over j <= i of log sigmoid(scale M_ij). Open is what each row prefers most,
    the token itself. Row 0 sees itself alone and is neutral.
    """
    logits = mask_logits(name, heads=heads, tokens=tokens, scale=scale)
    bias = -np.logaddexp(0, -scale * logits.astype(np.float64))
    visible = np.tril(np.ones((tokens, tokens), dtype=bool))
    weights = np.where(visible, np.exp(bias - bias.max(-1, keepdims=True)), 0)
    graded = np.tile(weights / weights.sum(-1, keepdims=True), (layers, 1, 1, 1))
    preferred = np.tile(np.eye(tokens, dtype=bool), (layers, heads, 1, 1))
    return DistancePattern(preferred, causal=True, graded=graded, logits=logits)
