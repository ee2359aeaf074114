"""The prior in the query-key weights: Structured (SVD) and Structured (Opt) initialisations.

Zheng et al. 2024 (arXiv 2404.01139) and 2025 (2505.19985), for any pattern. The pseudo-input is the model's own
position embedding, normalised like a layer's input, for that is all a layer knows of positions before training.
Shapes: H heads, N tokens, D width, d width of a head.
"""

import math

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from maskprior.attention import MaskedAttention, attentions
from maskprior.patterns.pattern import Pattern


@torch.no_grad()
def write_structured_svd(
    model: nn.Module,
    positions: Tensor,
    pattern: Pattern,
    *,
    open_value: float,
    closed_value: float,
    noise_std: float,
    noise_scale: float,
    query_key_norm: float,
    generator: Generator,
) -> None:
    """W_Q, W_K = norm * U S^1/2, norm * V S^1/2 with U S V^T the rank-d SVD of P^+ T P^+T, fresh noise per layer.

    T is `open_value` on open and `closed_value` plus truncated noise on closed entries; P, (N, D), is the normalised
    position embedding, P^+ its pseudo-inverse cut to rank d. Both factors of a head get Frobenius norm
    `query_key_norm`.
    """
    pseudo_input = F.layer_norm(positions, positions.shape[-1:])
    open_entries = torch.from_numpy(pattern.open)
    for module, layer in zip(attentions(model), open_entries, strict=True):
        noise = torch.empty(layer.shape)
        nn.init.trunc_normal_(noise, std=noise_std, generator=generator)
        target = torch.where(layer, torch.tensor(open_value), closed_value + noise_scale * noise)
        inverse = _pseudo_inverse(pseudo_input, rank=module.head_dim)
        u, s, vh = torch.linalg.svd(inverse @ target @ inverse.T)
        root = s[:, None, : module.head_dim].sqrt()
        factors = u[:, :, : module.head_dim] * root, vh.transpose(1, 2)[:, :, : module.head_dim] * root
        _write(module, *(query_key_norm * f / f.norm(dim=(1, 2), keepdim=True) for f in factors))


def write_structured_opt(
    model: nn.Module,
    positions: Tensor,
    pattern: Pattern,
    *,
    steps: int,
    lr: float,
    norm_every: int,
    generator: Generator,
) -> None:
    """W_Q, W_K minimising |softmax(P W_Q W_K^T P^T / sqrt(d)) - T|^2 by Adam, the same solution in every layer.

    T spreads each row over its open entries; P is the normalised position embedding. Factors start uniform in
    +-sqrt(1 / (d H)), and every `norm_every` steps their columns are set back to their initial mean norm. Layers
    whose patterns differ are solved apart.
    """
    pseudo_input = F.layer_norm(positions.detach(), positions.shape[-1:])
    targets = torch.from_numpy(pattern.target_map())
    modules = attentions(model)
    solutions: dict[bytes, tuple[Tensor, Tensor]] = {}
    for module, target in zip(modules, targets, strict=True):
        key = target.numpy().tobytes()
        if key not in solutions:
            shape = (module.heads, pseudo_input.shape[1], module.head_dim)
            bound = math.sqrt(1 / (module.head_dim * module.heads))
            start = [(2 * torch.rand(shape, generator=generator) - 1) * bound for _ in range(2)]
            solutions[key] = _fit(pseudo_input, target, *start, steps=steps, lr=lr, norm_every=norm_every)
        _write(module, *solutions[key])


def _fit(
    pseudo_input: Tensor, target: Tensor, query: Tensor, key: Tensor, *, steps: int, lr: float, norm_every: int
) -> tuple[Tensor, Tensor]:
    factors = [query.requires_grad_(), key.requires_grad_()]
    norms = [factor.detach().norm(dim=1, keepdim=True).mean() for factor in factors]
    optimizer = torch.optim.Adam(factors, lr=lr, fused=True)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        logits = (pseudo_input @ query) @ (pseudo_input @ key).transpose(1, 2) / math.sqrt(query.shape[-1])
        F.mse_loss(logits.softmax(-1), target).backward()
        optimizer.step()
        if step % norm_every == 0:
            with torch.no_grad():
                for factor, norm in zip(factors, norms, strict=True):
                    factor *= norm / factor.norm(dim=1, keepdim=True)
    return query.detach(), key.detach()


@torch.no_grad()
def _write(module: MaskedAttention, query: Tensor, key: Tensor) -> None:
    """Factors (H, D, d) into the weights of a layer."""
    for weight, factor in zip(module.query_key_weights(), (query, key), strict=True):
        weight.copy_(factor.transpose(1, 2).flatten(0, 1))


def _pseudo_inverse(matrix: Tensor, *, rank: int) -> Tensor:
    """Moore-Penrose inverse of the best rank-`rank` approximation: (N, D) -> (D, N)."""
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    kept = min(rank, int((s > s[0] * 1e-6).sum()))
    return (vh[:kept].T / s[:kept]) @ u[:, :kept].T
