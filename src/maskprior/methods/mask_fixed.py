"""Mask, fixed: the same M as the method `mask`, and the training does not move it (paper Tables 4 and 5)."""

from typing import Any

from torch import Generator, nn

from maskprior.initialization.mask import write_mask
from maskprior.methods import Method
from maskprior.patterns.pattern import Pattern


def write(model: nn.Module, config: Any, pattern: Pattern, noise: Generator) -> None:
    """M = +amplitude on open and -amplitude on closed entries, for good."""
    write_mask(model, pattern, amplitude=config.mask.amplitude, learnable=False, form=config.mask.form)


METHOD = Method(write, reads=("mask",))
