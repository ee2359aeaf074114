"""Mask, all zero: the parameters of the mask without the prior (paper Table 4)."""

from typing import Any

from torch import Generator, nn

from maskprior.initialization.mask import write_zero_mask
from maskprior.methods import Method
from maskprior.patterns.pattern import Pattern


def write(model: nn.Module, config: Any, pattern: Pattern, noise: Generator) -> None:
    """M = 0 everywhere; the training moves it."""
    write_zero_mask(model)


METHOD = Method(write)
