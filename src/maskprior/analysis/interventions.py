"""Interventions: what one change of the configuration does to the prior at its three levels.

A cell is named by its method and variant, `mask+sgd`. config/interventions.yaml groups them.
"""

import math
from collections.abc import Mapping, Sequence

from maskprior.analysis.explanations import FILE, Group
from maskprior.analysis.records import Entry, cells, load_target
from maskprior.config.base import OptimizerConfig
from maskprior.config.settings import Settings
from maskprior.errors import UserError
from maskprior.runs.spec import targets

TARGETS = ("interventions", "controls")

Cells = Mapping[str, Sequence[Entry]]


def load_tasks(settings: Settings) -> dict[str, Cells]:
    """Task -> cell -> its entries: the runs of the targets `interventions` and `controls`, in the order of the plan.

    A task that has none at the chosen scale stands there with those at the paper's.
    """
    found: dict[str, dict[str, list[Entry]]] = {}
    for at in dict.fromkeys([settings, settings.model_copy(update={"scale": "paper"})]):
        entries = [entry for target in TARGETS if target in targets() for entry in load_target(target, at)]
        here = cells([entry for entry in entries if entry.run.task not in found])
        for (task, cell), members in here.items():
            found.setdefault(task, {})[cell] = members
    return dict(found)


def grouped(groups: Sequence[Group], by_cell: Cells) -> dict[str, list[str]]:
    """Group -> its cells among those given. UserError for a cell that is in no group."""
    known = {cell for group in groups for cell in group.cells}
    for cell in by_cell:
        if cell not in known:
            raise UserError(f"config/{FILE}: cells: {cell}: in no group, but the target {' or '.join(TARGETS)} has it")
    found = {group.group: [cell for cell in group.cells if cell in by_cell] for group in groups}
    return {group: members for group, members in found.items() if members}


def reach(optimizer: OptimizerConfig) -> float:
    """The sum of M's learning rates over training: how far Adam can move an entry, nats.

    Adam's step is about the rate, whatever the gradient. NaN for gradient descent, whose steps know no such bound.
    """
    if optimizer.name == "sgd":
        return math.nan
    warmup, rest = optimizer.warmup_steps, max(0, optimizer.steps - optimizer.warmup_steps)
    falling = rest if optimizer.schedule == "constant" else (rest + 1) / 2  # the sum of (1 + cos(pi t / rest)) / 2
    rising = (warmup + 1) / 2 if warmup else 0.0
    return optimizer.lr * optimizer.mask_lr_multiplier * (rising + falling)
