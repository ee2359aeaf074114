"""Structured (Opt): the prior is in W_Q and W_K, fitted to the pattern by gradient descent (Zheng et al. 2025)."""

from typing import Any

from torch import Generator

from maskprior.initialization.structured import write_structured_opt
from maskprior.methods import Method
from maskprior.patterns.pattern import Pattern


def write(model: Any, config: Any, pattern: Pattern, noise: Generator) -> None:
    """W_Q and W_K whose attention between positions without content comes close to the pattern."""
    write_structured_opt(model, model.positions(), pattern, generator=noise, **config.opt.model_dump())


METHOD = Method(write, reads=("opt",))
