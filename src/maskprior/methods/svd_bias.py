"""SVD's logits as a bias: the prior of Structured (SVD), in M in place of the query-key weights.

The method separates where a prior stands from how large it is. Before training, the bias gives each pair of positions
the logit that Structured (SVD)'s weights give them, and the weights are Default's.
"""

import copy
from typing import Any

import torch
from torch import Generator
from torch.nn import functional as F

from maskprior.attention import attentions
from maskprior.errors import UserError
from maskprior.methods import Method, structured_svd
from maskprior.patterns.pattern import Pattern


@torch.no_grad()
def write(model: Any, config: Any, pattern: Pattern, noise: Generator) -> None:
    """M = P W_Q W_K^T P^T / sqrt(d), (H, N, N) in each layer: a learnable bias, added as it is.

    W_Q and W_K are those of Structured (SVD) with the same seed, and P, (N, D), is the normalised position embedding:
    what a layer reads where content is averaged out. UserError unless the mask's form is `additive`.
    """
    if config.mask.form != "additive":
        raise UserError(f"method svd_bias: needs mask.form: additive, not {config.mask.form}")
    weighted = copy.deepcopy(model)
    structured_svd.write(weighted, config, pattern, noise)
    positions = model.positions()
    pseudo_input = F.layer_norm(positions, positions.shape[-1:])[None]
    for module, with_prior in zip(attentions(model), attentions(weighted), strict=True):
        module.set_mask(with_prior.query_key_logits(pseudo_input)[0], learnable=True)


METHOD = Method(write, reads=("mask", "svd"))
