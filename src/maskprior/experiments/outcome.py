"""What an experiment hands over: how to train, and what to report when it is done."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskprior.training.loop import Losses, Progress, Setup


@dataclass(frozen=True)
class Outcome:
    """Final metrics, references, arrays and the names along their last axes; what the record's environment
    should say beside what it always says (`speed` is never compared)."""

    metrics: dict[str, float]
    reference: dict[str, float]
    arrays: dict[str, np.ndarray]
    labels: dict[str, list[str]]
    environment: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """A run ready to train. `report(losses, progress)` is called after the training, also after a diverged one."""

    setup: Setup
    report: Callable[[Losses, Progress | None], Outcome]
