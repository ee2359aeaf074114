"""What could explain that a prior persists: predictions about the interventions, tested on their records.

config/interventions.yaml groups the interventions and says what each explanation predicts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import yaml
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from maskprior import paths
from maskprior.analysis.aggregate import ENOUGH, Summary, interval, summarise
from maskprior.analysis.axes import axis_of
from maskprior.analysis.records import Entry, by_seed
from maskprior.config.base import Section
from maskprior.errors import UserError

HOLDS, FAILS, OPEN, NOT_RUN = OUTCOMES = ("holds", "fails", "open", "not run")
SURVIVES, REFUTED = "survives", "refuted"
VERDICTS = (SURVIVES, REFUTED, OPEN, NOT_RUN)
FILE = "interventions.yaml"

Level = Literal["parameter", "map", "function"]
# The metric that says how much of the prior is left at a level when training ends.
LEFT = {"parameter": "gap_retention", "map": "strength_retention", "function": "function_final"}


class Prediction(Section):
    """How much of the prior a cell has left at a level when training ends: at least, or below, a share."""

    cell: str
    level: Level
    at_least: float | None = Field(None, gt=0, lt=1)
    below: float | None = Field(None, gt=0, lt=1)

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if (self.at_least is None) == (self.below is None):
            raise ValueError(f"{self.cell}: {self.level}: give either at_least or below")
        return self

    def test(self, low: float, high: float) -> str:
        """`holds` where all of [low, high] lies on the predicted side, `fails` where none of it does, else `open`."""
        bound = self.below if self.at_least is None else self.at_least
        assert bound is not None
        if low < bound <= high:
            return OPEN
        return HOLDS if (high < bound) == (self.at_least is None) else FAILS


class Explanation(Section):
    id: str
    explanation: str
    predictions: list[Prediction] = Field(min_length=1)


class Group(Section):
    """A block of the interventions: what they change, the cells that do, and the explanations these test."""

    group: str
    cells: list[str] = Field(min_length=1)
    explanations: list[Explanation] = Field(default_factory=list)


@dataclass(frozen=True)
class Tested:
    """A prediction and what the runs say: what is left of the prior, over the completed seeds that had one."""

    prediction: Prediction
    left: Summary
    outcome: str


@dataclass(frozen=True)
class Judged:
    """An explanation on one task. `verdict`: survives, refuted, open or not run."""

    explanation: Explanation
    tested: tuple[Tested, ...]

    @property
    def verdict(self) -> str:
        outcomes = {tested.outcome for tested in self.tested}
        if FAILS in outcomes:
            return REFUTED
        if outcomes == {HOLDS}:
            return SURVIVES
        return NOT_RUN if outcomes == {NOT_RUN} else OPEN


def read_groups() -> list[Group]:
    """config/interventions.yaml, validated. UserError naming the key otherwise."""
    values = yaml.safe_load((paths.config() / FILE).read_text())
    try:
        groups = TypeAdapter(list[Group]).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UserError(f"config/{FILE}: {key}: {first['msg'][0].lower()}{first['msg'][1:]}") from None
    _once(cell for group in groups for cell in group.cells)
    _once(explanation.id for group in groups for explanation in group.explanations)
    known = {cell for group in groups for cell in group.cells}
    for group in groups:
        for explanation in group.explanations:
            for prediction in explanation.predictions:
                if prediction.cell not in known:
                    raise UserError(f"config/{FILE}: {explanation.id}: {prediction.cell} is in no group's cells")
    return groups


def _once(names: Iterable[str]) -> None:
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        raise UserError(f"config/{FILE}: {repeated[0]} occurs more than once")


def judge(groups: Sequence[Group], cells: Mapping[str, Sequence[Entry]]) -> list[Judged]:
    """Every explanation of which a task's cells test something, in the order of the file."""
    found = []
    for explanation in (explanation for group in groups for explanation in group.explanations):
        tested = tuple(_tested(p, cells[p.cell]) for p in explanation.predictions if p.cell in cells)
        if tested:
            found.append(Judged(explanation, tested))
    return found


def _tested(prediction: Prediction, entries: Sequence[Entry]) -> Tested:
    values = list(by_seed(entries, LEFT[prediction.level]).values())
    diverged = sum(entry.status == "diverged" for entry in entries)
    axis = axis_of(LEFT[prediction.level])
    summary = summarise(values, planned=len(entries), diverged=diverged, axis=axis)
    if entries[0].run.scale == "smoke" or not any(entry.record for entry in entries):
        return Tested(prediction, summary, NOT_RUN)  # smoke runs prove nothing
    if diverged or not values:
        return Tested(prediction, summary, OPEN)
    low, high = interval(values, axis) if len(values) >= ENOUGH else (min(values), max(values))
    return Tested(prediction, summary, prediction.test(low, high))
