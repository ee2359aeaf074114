"""Default: no prior. The network keeps the weights it is born with."""

from typing import Any

from torch import Generator, nn

from maskprior.methods import Method
from maskprior.patterns.pattern import Pattern


def write(model: nn.Module, config: Any, pattern: Pattern, noise: Generator) -> None:
    """Nothing."""


METHOD = Method(write)
