"""One training loop for all experiments. It trains, looks where it is told to, and can be killed at any time."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from maskprior.config.base import OptimizerConfig
from maskprior.training import checkpoint as checkpoint_file
from maskprior.training.optimizer import set_learning_rate

CHECKPOINT_SECONDS = 60.0

Arrays = dict[str, np.ndarray]
Progress = Callable[[int, int, float], None]


class Observer(Protocol):
    """Something that looks at the training without changing it, and survives an interruption with it."""

    def observe(self, step: int, losses: Sequence[float]) -> None:
        """After `step` updates, with the training losses so far."""

    def before_update(self, step: int) -> None:
        """Gradients are there, update number `step` (from 0) is about to happen."""

    def after_update(self, step: int) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def load(self, state: dict[str, Any]) -> None: ...


@dataclass(frozen=True)
class Setup:
    """All a training needs. `batches(step)` yields the batches from that step on, the same ones every time."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    config: OptimizerConfig
    batches: Callable[[int], Iterator[Any]]
    loss: Callable[[Any], Tensor]
    observers: Sequence[Observer]


@dataclass
class Losses:
    """Training losses, exact. `diverged` is set by the first loss that is not finite; `seconds` counts all attempts."""

    values: list[float] = field(default_factory=list)
    diverged: bool = False
    seconds: float = 0.0


def train(
    setup: Setup, *, checkpoint: Path | None = None, progress: Progress | None = None, stop: int | None = None
) -> Losses:
    """Train for `config.steps` updates (or until `stop`), resuming from `checkpoint` if it exists.

    The checkpoint is written about every minute and holds everything the future depends on, so an interrupted run
    ends with the same result, bit for bit on the same device class. A loss that is not finite ends the training.
    """
    losses = Losses()
    steps = setup.config.steps if stop is None else min(stop, setup.config.steps)
    if checkpoint is not None:
        _load(checkpoint, setup, losses)
    start = len(losses.values)
    batches = setup.batches(start)
    saved = started = time.monotonic()
    before = losses.seconds
    setup.model.train()
    for step in range(start, steps):
        losses.seconds = before + time.monotonic() - started
        _observe(setup, step, losses)
        set_learning_rate(setup.optimizer, setup.config, step)
        setup.model.zero_grad()
        loss = setup.loss(next(batches))
        value = loss.item()
        if not np.isfinite(value):
            losses.diverged = True
            return losses
        loss.backward()
        for observer in setup.observers:
            observer.before_update(step)
        setup.optimizer.step()
        for observer in setup.observers:
            observer.after_update(step)
        losses.values.append(value)
        if progress is not None:
            progress(step + 1, steps, value)
        if checkpoint is not None and time.monotonic() - saved > CHECKPOINT_SECONDS:
            _save(checkpoint, setup, losses)
            saved = time.monotonic()
    if steps == setup.config.steps:
        # A long evaluation may follow: whoever is killed in it need not train again.
        if checkpoint is not None and steps > start:
            _save(checkpoint, setup, losses)
        _observe(setup, steps, losses)
    return losses


def _observe(setup: Setup, step: int, losses: Losses) -> None:
    for observer in setup.observers:
        observer.observe(step, losses.values)


def _save(path: Path, setup: Setup, losses: Losses) -> None:
    state = {
        "losses": losses.values,
        "seconds": losses.seconds,
        "model": setup.model.state_dict(),
        "optimizer": setup.optimizer.state_dict(),
        "observers": [observer.state() for observer in setup.observers],
    }
    checkpoint_file.save(path, state)


def _load(path: Path, setup: Setup, losses: Losses) -> None:
    state = checkpoint_file.load(path)
    if state is None:
        return
    losses.values, losses.seconds = state["losses"], state["seconds"]
    setup.model.load_state_dict(state["model"])
    setup.optimizer.load_state_dict(state["optimizer"])
    for observer, saved in zip(setup.observers, state["observers"], strict=True):
        observer.load(saved)
