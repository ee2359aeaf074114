"""Theorem 1 and Corollary 1 of the paper (section 4.3, appendix A): how far one attention weight moves.

For one row p = softmax(z), z_j = q . k_j / sqrt(d) + log sigmoid(m_j):

    dp_i/dq   = p_i / sqrt(d) (k_i - sum_l p_l k_l)             |.| <= 2 p_i B_k / sqrt(d)
    dp_i/dk_j = p_i (delta_ij - p_j) q / sqrt(d)                |.| <= p_i B_q / sqrt(d)
    dp_i/dm_j = p_i (delta_ij - p_j) sigmoid(-m_j)              |.| <= p_i

with B_k, B_q bounds on the norms of keys and queries. Shapes: ... leading, N tokens, d width of a head.
"""

import math

import torch
from torch import Tensor


def bound_query(p: Tensor, key_norm: Tensor, head_dim: int) -> Tensor:
    """2 p_i B_k / sqrt(d): p (..., N), B_k (...) -> (..., N)."""
    return 2 * p * key_norm.unsqueeze(-1) / math.sqrt(head_dim)


def bound_keys(p: Tensor, query_norm: Tensor, head_dim: int) -> Tensor:
    """p_i B_q / sqrt(d): p (..., N), B_q (...) -> (..., N)."""
    return p * query_norm.unsqueeze(-1) / math.sqrt(head_dim)


def bound_mask(p: Tensor) -> Tensor:
    """p_i."""
    return p


def sensitivities(queries: Tensor, keys: Tensor, p: Tensor, mask_slope: Tensor | None) -> dict[str, Tensor]:
    """Actual size and bound of the three derivatives, averaged over samples, rows and entries: name -> (H,).

    Queries and keys (B, H, N, d), p (B, H, N, N). `mask_slope`, (H, N, N), is the bias's derivative by M: sigmoid(-M)
    for log sigmoid(M), 1 for a raw bias. `<part>_sensitivity` is the mean norm of the derivative (for keys and mask of
    its largest j), `<part>_bound` the mean of Corollary 1's bound with B_k, B_q the largest norms in the head. Mask
    entries are NaN without a mask. In float32 the query part resolves no less than about 3e-4 of its bound.
    """
    head_dim = keys.shape[-1]
    # Norms without the (N, N, N) and (N, N, d) tensors: |k_i - k|^2 expands, and max_j |p_i (delta_ij - p_j)| is
    # p_i (1 - p_i), for no other p_j exceeds 1 - p_i.
    mean_key = p @ keys
    squared = keys.square().sum(-1).unsqueeze(-2) - 2 * mean_key @ keys.transpose(-2, -1)
    spread = (squared + mean_key.square().sum(-1, keepdim=True)).clamp_min(0).sqrt()
    actual_query = p * spread / math.sqrt(head_dim)
    actual_keys = p * (1 - p) * queries.norm(dim=-1).unsqueeze(-1) / math.sqrt(head_dim)
    key_norm, query_norm = keys.norm(dim=-1).amax(-1), queries.norm(dim=-1).amax(-1)
    found = {
        "query_sensitivity": actual_query,
        "query_bound": bound_query(p, key_norm.unsqueeze(-1), head_dim),
        "key_sensitivity": actual_keys,
        "key_bound": bound_keys(p, query_norm.unsqueeze(-1), head_dim),
        "mask_sensitivity": torch.full_like(p, math.nan),
        "mask_bound": torch.full_like(p, math.nan),
    }
    if mask_slope is not None:
        weighted = p * mask_slope
        first, second = weighted.topk(2, -1).values.unbind(-1)
        largest_other = torch.where(weighted == first.unsqueeze(-1), second.unsqueeze(-1), first.unsqueeze(-1))
        found["mask_sensitivity"] = p * torch.maximum((1 - p) * mask_slope, largest_other)
        found["mask_bound"] = bound_mask(p)
    return {name: value.mean(dim=(0, 2, 3)) for name, value in found.items()}
