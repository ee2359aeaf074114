"""Mimetic: W_Q W_K^T resembles the identity, so tokens attend to tokens like themselves (Trockman and Kolter 2023)."""

from typing import Any

from torch import Generator, nn

from maskprior.initialization.mimetic import write_mimetic_query_key
from maskprior.methods import Method
from maskprior.patterns.pattern import Pattern


def write(model: nn.Module, config: Any, pattern: Pattern, noise: Generator) -> None:
    """W_Q and W_K alone; the experiments set W_V and W_O."""
    options = config.mimetic
    write_mimetic_query_key(model, identity=options.query_key_identity, noise=options.query_key_noise, generator=noise)


METHOD = Method(write, reads=("mimetic",))
