"""Proposition 1 of the paper: how small an attention map can become, by the way the mask enters.

softmax(Z + log sigmoid(M)): rows are non-negative and sum to 1, so each has a norm between 1 / sqrt(N) and 1, and the
map's Frobenius norm lies in [1, sqrt(N)], whatever Z and M are.

sigmoid(M) * softmax(Z): with sigma_ij = sigmoid(M_ij), over all logits Z the norm takes the values between

    sqrt(sum_i 1 / sum_j sigma_ij^-2), attained at p_ij ~ sigma_ij^-2, and
    sqrt(sum_i max_j sigma_ij^2), approached by one-hot rows,

and both go to 0 as M goes to minus infinity: a Hadamard mask can switch the layer off. N tokens.
"""

import math

from torch import Tensor
from torch.nn import functional as F


def frobenius_norm(attention: Tensor) -> Tensor:
    """sqrt(sum_ij A_ij^2): (..., N, N) -> (...)."""
    return attention.square().sum((-2, -1)).sqrt()


def softmax_bounds(tokens: int) -> tuple[float, float]:
    """Smallest and largest Frobenius norm of a map whose rows sum to 1."""
    return 1.0, math.sqrt(tokens)


def hadamard_bounds(mask_logits: Tensor) -> tuple[Tensor, Tensor]:
    """Smallest and largest Frobenius norm of sigmoid(M) * softmax(Z) over all Z: M (..., N, N) -> (...), (...).

    The largest is a supremum: one-hot rows need infinite logits.
    """
    log_inverse_square = 2 * F.softplus(-mask_logits)
    low = (-log_inverse_square.logsumexp(-1)).exp().sum(-1).sqrt()
    high = mask_logits.sigmoid().amax(-1).square().sum(-1).sqrt()
    return low, high


def smallest_logits(mask_logits: Tensor) -> Tensor:
    """The Z at which `hadamard_bounds`' smallest norm is attained, softmax(Z) ~ sigma^-2: shape as M."""
    return 2 * F.softplus(-mask_logits)
