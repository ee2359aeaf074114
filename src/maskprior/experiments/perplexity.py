"""Perplexity of a language model: exact, over a whole text, and as the paper estimates it.

Shape letters: n tokens of a text, T tokens of a window (block).
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from maskprior.datasets import text
from maskprior.datasets.text import Tokens
from maskprior.evaluation import evaluation_mode
from maskprior.training.loop import Progress

WINDOWS = 8


def token_losses(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of every target, nats: (B, T) -> (B, T)."""
    losses: Tensor = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten(), reduction="none")
    return losses.unflatten(0, inputs.shape)


def windows(count: int, *, block: int, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Where windows over a text of n = `count` tokens begin, and how many of their targets an earlier one had.

    A window of T inputs has the T tokens after each of them as targets. Together all tokens but the first are targets
    once: from the second window on only the last `stride` count, so that each has at least T - stride tokens before it;
    the last window is moved back to end with the text.
    """
    last = max(count - 1 - block, 0)
    begins = np.append(np.arange(0, last, stride), last)
    ends = np.append(0, begins[:-1] + block)
    return begins, ends - begins


@torch.no_grad()
def text_nats(
    model: nn.Module, tokens: Tokens, *, block: int, stride: int, device: str, progress: Progress | None = None
) -> float:
    """-log p of the text given its first token, in nats, by a window of `block` tokens that moves on by `stride`."""
    begins, had = windows(len(tokens), block=block, stride=stride)
    offsets = np.arange(min(block, len(tokens) - 1))
    total = 0.0
    with evaluation_mode(model):
        for at in range(0, len(begins), WINDOWS):
            index = begins[at : at + WINDOWS, None] + offsets
            inputs, targets = (torch.from_numpy(tokens[i].astype(np.int64)).to(device) for i in (index, index + 1))
            counts = torch.from_numpy(offsets >= had[at : at + WINDOWS, None]).to(device)
            total += (token_losses(model, inputs, targets).double() * counts).sum().item()
            if progress is not None:
                done = min(at + WINDOWS, len(begins))
                progress(done, len(begins), total / (index.max() + 1))
    return total


@torch.no_grad()
def estimated_loss(model: nn.Module, batches: Iterator[tuple[Tensor, Tensor]]) -> float:
    """Mean over batches of the mean cross-entropy, nats: the paper's estimate, on random windows without context."""
    with evaluation_mode(model):
        means = [token_losses(model, inputs, targets).mean().item() for inputs, targets in batches]
    return float(np.mean(means))


def random_batches(
    tokens: Tokens, *, count: int, block: int, batch_size: int, seed: int, stream: str, device: str
) -> Iterator[tuple[Tensor, Tensor]]:
    for step in range(count):
        found = text.batch(tokens, block=block, batch_size=batch_size, seed=seed, stream=stream, step=step)
        yield found[0].to(device), found[1].to(device)


def perplexity(nats_per_token: float) -> float:
    """exp, inf where it is too large for a float."""
    return math.exp(nats_per_token) if nats_per_token < 700 else math.inf


def bits_per_byte(nats: float, size: int) -> float:
    """Bits a model needs for a text of `size` bytes, a byte: what models with different tokens are compared by."""
    return nats / math.log(2) / size
