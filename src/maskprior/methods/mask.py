"""Mask: the prior is M, a learnable attention bias log sigmoid(M) (paper 4.1, 4.2)."""

from typing import Any

from torch import Generator, nn

from maskprior.initialization.mask import write_mask
from maskprior.methods import Method
from maskprior.patterns.pattern import Pattern


def write(model: nn.Module, config: Any, pattern: Pattern, noise: Generator) -> None:
    """M = +amplitude on open and -amplitude on closed entries; the training moves it."""
    write_mask(model, pattern, amplitude=config.mask.amplitude, learnable=True, form=config.mask.form)


METHOD = Method(write, reads=("mask",))
