"""The derivatives of Theorem 1 in full, against which the diagnostics' shortcuts are checked.

Shapes: ... leading, N tokens, d width of a head.
"""

import math

from torch import Tensor


def derivative_query(p: Tensor, keys: Tensor) -> Tensor:
    """dp_i/dq: p (..., N), keys (..., N, d) -> (..., N, d)."""
    mean_key = p.unsqueeze(-2) @ keys
    return p.unsqueeze(-1) * (keys - mean_key) / math.sqrt(keys.shape[-1])


def derivative_keys(p: Tensor, query: Tensor) -> Tensor:
    """dp_i/dk_j: p (..., N), query (..., d) -> (..., N i, N j, d)."""
    return softmax_jacobian(p).unsqueeze(-1) * query[..., None, None, :] / math.sqrt(query.shape[-1])


def derivative_mask(p: Tensor, mask_logits: Tensor) -> Tensor:
    """dp_i/dm_j: p (..., N), m (..., N) -> (..., N i, N j)."""
    return softmax_jacobian(p) * (-mask_logits).sigmoid().unsqueeze(-2)


def softmax_jacobian(p: Tensor) -> Tensor:
    """dp_i/dz_j = p_i (delta_ij - p_j): (..., N) -> (..., N, N)."""
    return p.diag_embed() - p.unsqueeze(-1) * p.unsqueeze(-2)
