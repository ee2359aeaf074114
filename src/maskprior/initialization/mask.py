"""The prior as an attention bias: M is +a on open and -a on closed entries (paper 4.2), or what the pattern gives."""

import torch
from torch import nn

from maskprior.attention import attentions
from maskprior.patterns.pattern import Pattern


def write_mask(model: nn.Module, pattern: Pattern, *, amplitude: float, learnable: bool, form: str) -> None:
    """Give every layer its M. The raw additive form starts at the same bias, log sigmoid(+-a)."""
    mask_logits = torch.from_numpy(pattern.mask_logits(amplitude))
    if form == "additive":
        mask_logits = nn.functional.logsigmoid(mask_logits)
    for module, layer in zip(attentions(model), mask_logits, strict=True):
        module.set_mask(layer, learnable=learnable)


def write_zero_mask(model: nn.Module) -> None:
    """A learnable M of zeros in every layer: the parameters without the prior (paper Table 4)."""
    for module in attentions(model):
        module.set_mask(torch.zeros(module.heads, module.tokens, module.tokens), learnable=True)
