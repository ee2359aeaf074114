"""Images: the prior's place apart from W_V and W_O, which Mimetic and Impulse set too and the mask leaves alone.

A prior with either initialisation of W_V W_O: what the prior does is the difference to Default with the same one,
and what W_V W_O do is the difference between the two.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from maskprior.analysis.aggregate import Difference
from maskprior.analysis.measured import difference
from maskprior.analysis.records import Entry, cells, load_target
from maskprior.config.settings import Settings
from maskprior.runs.spec import make_run, resolve

TARGET = "value_init"
METRIC = "best_top1"
DEFAULT, MIMETIC = "default", "mimetic"

# (prior, initialisation of W_V and W_O) -> the entries of that cell; a prior is a method, or one with another variant.
Design = Mapping[tuple[str, str], Sequence[Entry]]


def load_tasks(settings: Settings) -> dict[str, Design]:
    """Task -> the target's cells, by prior and initialisation; empty where the target is not planned."""
    found: dict[str, dict[tuple[str, str], Sequence[Entry]]] = {}
    for (task, cell), entries in cells(load_target(TARGET, settings)).items():
        config: Any = resolve(make_run("vision", task, cell, scale=settings.scale))
        method, _, variant = cell.partition("+")
        prior = method if variant.startswith("vproj_") else cell
        found.setdefault(task, {})[prior, config.vproj] = entries
    return dict(found)


def prior_effect(design: Design, prior: str, vproj: str) -> Difference:
    """Best top-1 of a prior minus Default's with the same W_V and W_O, paired by seed."""
    return _difference(design, (prior, vproj), (DEFAULT, vproj))


def value_effect(design: Design, prior: str) -> Difference:
    """Best top-1 of a prior with Mimetic's W_V and W_O minus with Default's, paired by seed."""
    return _difference(design, (prior, MIMETIC), (prior, DEFAULT))


def _difference(design: Design, cell: tuple[str, str], other: tuple[str, str]) -> Difference:
    return difference(design.get(cell, ()), design.get(other, ()), METRIC)
