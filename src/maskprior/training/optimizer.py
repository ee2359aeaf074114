"""Optimiser, its parameter groups, and the learning-rate schedule."""

import math
from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import torch
from torch import nn

from maskprior.config.base import OptimizerConfig


@runtime_checkable
class OwnSchedule(Protocol):
    """A configuration with a schedule of its own."""

    def factor(self, step: int) -> float:
        """The learning rate of the step that follows `step` updates, in units of `lr`."""


def build_optimizer(
    config: OptimizerConfig,
    *,
    masks: Iterable[nn.Parameter],
    query_keys: Iterable[nn.Parameter] = (),
    others: Iterable[nn.Parameter] = (),
    undecayed: Iterable[nn.Parameter] = (),
) -> torch.optim.Optimizer:
    """Groups with their weight decay and learning-rate multiplier: M, W_Q and W_K, the rest, what is never decayed."""
    wanted = [
        (masks, config.mask_weight_decay, config.mask_lr_multiplier),
        (query_keys, config.weight_decay, config.query_key_lr_multiplier),
        (others, config.weight_decay, 1.0),
        (undecayed, 0.0, 1.0),
    ]
    groups = []
    for parameters, decay, multiplier in wanted:
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        if trained and multiplier > 0:
            groups.append({"params": trained, "weight_decay": decay, "multiplier": multiplier})
    if config.name == "sgd":
        return torch.optim.SGD(groups, lr=config.lr, fused=True)
    kind = torch.optim.AdamW if config.name == "adamw" else torch.optim.Adam
    return kind(groups, lr=config.lr, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, config: OptimizerConfig, step: int) -> None:
    """The learning rate of the step that follows `step` updates."""
    for group in optimizer.param_groups:
        group["lr"] = config.lr * group["multiplier"] * schedule(config, step)


def schedule(config: OptimizerConfig, step: int) -> float:
    """The configuration's own schedule, or linear warm-up to 1, then constant or a cosine to 0 after the last step."""
    if isinstance(config, OwnSchedule):
        return config.factor(step)
    if step < config.warmup_steps:
        return (step + 1) / config.warmup_steps
    if config.schedule == "constant":
        return 1.0
    done = (step - config.warmup_steps) / max(1, config.steps - config.warmup_steps)
    return 0.5 * (1 + math.cos(math.pi * done))


class DecayOnly:
    """What regularisation alone makes of M: the same optimiser on a copy of M whose loss gradient is zero."""

    def __init__(self, config: OptimizerConfig, masks: Iterable[nn.Parameter]) -> None:
        self.config = config
        self.masks = [nn.Parameter(m.detach().clone(), requires_grad=m.requires_grad) for m in masks]
        trained = [m for m in self.masks if m.requires_grad]
        self.optimizer = build_optimizer(config, masks=trained) if trained else None
        for m in trained:
            m.grad = torch.zeros_like(m)

    def step(self, step: int) -> None:
        if self.optimizer is not None:
            set_learning_rate(self.optimizer, self.config, step)
            self.optimizer.step()

    def state(self) -> dict[str, object]:
        optimizer = {} if self.optimizer is None else self.optimizer.state_dict()
        return {"masks": [m.detach() for m in self.masks], "optimizer": optimizer}

    @torch.no_grad()
    def load(self, state: dict[str, object]) -> None:
        masks = state["masks"]
        assert isinstance(masks, list)
        for mask, saved in zip(self.masks, masks, strict=True):
            mask.copy_(saved)
        if self.optimizer is not None:
            self.optimizer.load_state_dict(state["optimizer"])  # type: ignore[arg-type]
