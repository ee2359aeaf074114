"""Where a prior lives: a method is one file in methods/ that bears the method's name and holds the object `METHOD`.

A file is found by its name, and no file imports its neighbours, unless it is made of one. So a new method is a new
file, and the identity of no other method's runs depends on it.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Generator, nn

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
        position_scale: what the network multiplies its position embedding with, from the run's configuration.
    """

    write: Write
    position_scale: Callable[[Any], float] = own_position_scale


def find(name: str) -> Method:
    """The method's object; its name has been checked with the configuration."""
    found: Method = importlib.import_module(f"{__name__}.{name}").METHOD
    return found
