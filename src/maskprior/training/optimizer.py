"""Optimiser, its parameter groups, and the learning-rate schedule."""

from collections.abc import Iterable

import torch
from torch import nn

from maskprior.attention import mask_parameters, query_key_parameters
from maskprior.config.base import OptimizerConfig


def model_optimizer(model: nn.Module, config: OptimizerConfig) -> torch.optim.Optimizer:
    """The optimiser of a network whose W_Q and W_K are parameters of their own."""
    masks, query_keys = mask_parameters(model), query_key_parameters(model)
    special = {id(parameter) for parameter in [*masks, *query_keys]}
    others = [parameter for parameter in model.parameters() if id(parameter) not in special]
    return build_optimizer(
        config,
        masks=masks if config.moves_mask else (),
        query_keys=query_keys if config.moves_query_key else (),
        others=others if config.trained == "all" else (),
    )


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
    if not groups:
        raise ValueError(f"optimizer.trained: {config.trained}: this method has no such parameters to train")
    if config.name == "sgd":
        return torch.optim.SGD(groups, lr=config.lr, fused=True)
    kind = torch.optim.AdamW if config.name == "adamw" else torch.optim.Adam
    return kind(groups, lr=config.lr, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, config: OptimizerConfig, step: int) -> None:
    """The learning rate of the step that follows `step` updates."""
    for group in optimizer.param_groups:
        group["lr"] = config.lr * group["multiplier"] * config.factor(step)


class DecayOnly:
    """What regularisation alone makes of M: the same optimiser on a copy of M whose loss gradient is zero."""

    def __init__(self, config: OptimizerConfig, masks: Iterable[nn.Parameter]) -> None:
        self.config = config
        self.masks = [nn.Parameter(m.detach().clone(), requires_grad=m.requires_grad) for m in masks]
        trained = [m for m in self.masks if m.requires_grad and config.moves_mask]
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
