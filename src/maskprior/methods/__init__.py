"""Where a prior lives: a method is one file in methods/ that bears the method's name and holds the object `METHOD`.

A file is found by its name, and no file imports its neighbours, unless it is made of one. So a new method is a new
file, and the identity of no other method's runs depends on it.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Generator, nn

from maskprior.errors import UserError
from maskprior.patterns.pattern import Pattern

Write = Callable[[nn.Module, Any, Pattern, Generator], None]


def own_position_scale(config: Any) -> float:
    """The factor of the position embedding that the configuration gives."""
    found: float = config.position_scale
    return found


@dataclass(frozen=True)
class Method:
    """A method.

    Attributes:
        write: puts the pattern into a new network: `write(model, config, pattern, noise)`. `config` is the run's
            configuration, whose `options` are the method's own; `noise` is the generator for what the method draws.
        reads: the sections of the configuration that it reads, beside its options.
        position_scale: what the network multiplies its position embedding with, from the run's configuration.
    """

    write: Write
    reads: tuple[str, ...] = ()
    position_scale: Callable[[Any], float] = own_position_scale


def find(config: Any) -> Method:
    """The method of a run's configuration. UserError where the configuration has not what the method reads."""
    found: Method = importlib.import_module(f"{__name__}.{config.method}").METHOD
    if missing := [section for section in found.reads if not hasattr(config, section)]:
        raise UserError(f"method {config.method}: reads {missing[0]}, which {type(config).__name__} does not have")
    return found
