"""Structured (SVD): the prior is in W_Q and W_K, by a decomposition of the pattern (Zheng et al. 2024, 2404.01139)."""

from typing import Any

from torch import Generator

from maskprior.initialization.structured import write_structured_svd
from maskprior.methods import Method
from maskprior.patterns.pattern import Pattern


def write(model: Any, config: Any, pattern: Pattern, noise: Generator) -> None:
    """W_Q and W_K from the pattern and the position embedding of the tokens that the pattern speaks of."""
    options = config.svd.model_dump(exclude={"position_scale"})
    positions = model.positions()[pattern.prefix :]
    write_structured_svd(model, positions, pattern.without_prefix(), generator=noise, **options)


METHOD = Method(write, reads=("svd",), position_scale=lambda config: config.svd.position_scale)
