"""Mimetic initialisation: the attention weights of a new network made to resemble those of a trained one.

Trockman & Kolter 2023 (arXiv 2305.09828), with the constants of Zheng et al. 2025 (2505.19985). It knows nothing of a
pattern: tokens attend to tokens like themselves. Shapes: H heads, D width, d width of a head.
"""

import math

import torch
from torch import Generator, Tensor, nn

from maskprior.attention import attentions


@torch.no_grad()
def write_mimetic_query_key(model: nn.Module, *, identity: float, noise: float, generator: Generator) -> None:
    """W_Q W_K^T = the rank-d part of `identity` I + `noise` Z per head, Z uniform with variance 1/D."""
    for module in attentions(model):
        query, key = module.query_key_weights()
        width = query.shape[1]
        drawn = [_factors(width, module.head_dim, identity, noise, generator) for _ in range(module.heads)]
        query.copy_(torch.cat([left.T for left, _ in drawn]))
        key.copy_(torch.cat([right.T for _, right in drawn]))


@torch.no_grad()
def write_mimetic_value_out(model: nn.Module, *, identity: float, noise: float, generator: Generator) -> None:
    """W_V W_O = the rank-H d part of `noise` Z - `identity` I over all heads together."""
    for module in attentions(model):
        value, out = module.value_out_weights()
        left, right = _factors(value.shape[1], len(value), -identity, noise, generator)
        value.copy_(left.T)
        out.copy_(right)


def _factors(width: int, rank: int, identity: float, noise: float, generator: Generator) -> tuple[Tensor, Tensor]:
    """A, B of shape (D, rank) with A B^T the best approximation of that rank: U S^1/2 and V S^1/2."""
    uniform = (2 * torch.rand(width, width, generator=generator) - 1) * math.sqrt(3 / width)
    u, s, vh = torch.linalg.svd(noise * uniform + identity * torch.eye(width))
    root = s[:rank].sqrt()
    return u[:, :rank] * root, vh[:rank].T * root
