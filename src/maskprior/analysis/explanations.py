"""What could explain that a prior persists: predictions about the interventions, tested on their records.

config/interventions.yaml groups the interventions and says what each explanation predicts.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import yaml
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from maskprior import paths
from maskprior.analysis.aggregate import ENOUGH, Summary, interval, summarise
from maskprior.analysis.measured import diverged, summary
from maskprior.analysis.records import Entry, by_seed
from maskprior.config.base import Section
from maskprior.errors import UserError

HOLDS, FAILS, OPEN, NOT_TESTED = OUTCOMES = ("holds", "fails", "open", "not tested")
SURVIVES, REFUTED = "survives", "refuted"
VERDICTS = (SURVIVES, REFUTED, OPEN, NOT_TESTED)
# Where the baseline keeps, or has lost, less than this share, there is nothing that a change could take or give back.
SOMETHING = 0.25
FILE = "interventions.yaml"

Level = Literal["parameter", "map", "function"]
# The metric that says how much of the prior is left at a level when training ends.
LEFT = {"parameter": "gap_retention", "map": "strength_retention", "function": "function_final"}


def _own_method(prediction: dict[str, Any]) -> str:
    method: str = prediction["cell"].partition("+")[0]
    return method


class Prediction(Section):
    """What one change does to the prior when training ends, as a share of what its baseline keeps, or has lost, there.

    `of: kept`: left / left of the baseline's. `of: lost`: (left - baseline's) / (1 - baseline's), what the change gives
    back. The baseline is the cell's method without the variant unless another method is named, paired by seed.
    `confound`: what else the change does; predictions that share a confound count once.
    """

    cell: str
    baseline: str = Field(default_factory=_own_method)
    level: Level
    of: Literal["kept", "lost"]
    at_least: float | None = Field(None, gt=0, lt=1)
    below: float | None = Field(None, gt=0, lt=1)
    confound: str | None = None

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if (self.at_least is None) == (self.below is None):
            raise ValueError(f"{self.cell}: {self.level}: give either at_least or below")
        if self.cell == self.baseline:
            raise ValueError(f"{self.cell}: changes nothing, so it has no baseline")
        return self

    def share(self, left: float, baseline: float) -> float:
        """NaN where this seed's baseline leaves nothing to divide by."""
        whole = baseline if self.of == "kept" else 1 - baseline
        gained = left if self.of == "kept" else left - baseline
        return gained / whole if whole > 0 else math.nan

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
    """A prediction and what the runs say.

    Attributes:
        left, baseline: what is left of the prior in the cell and in its baseline, over the seeds that had one.
        share: what the prediction is about, over the seeds that both have.
        why: why it is not tested, or open though the interval would decide; empty otherwise.
    """

    prediction: Prediction
    left: Summary
    baseline: Summary
    share: Summary
    outcome: str
    why: str = ""


@dataclass(frozen=True)
class Judged:
    """An explanation on one task. `verdict`: survives, refuted, open or not tested."""

    explanation: Explanation
    tested: tuple[Tested, ...]

    @property
    def verdict(self) -> str:
        """Refuted by one prediction that fails. It takes two that hold, without a confound in common, to survive."""
        asked = [tested for tested in self.tested if tested.outcome != NOT_TESTED]
        outcomes = {tested.outcome for tested in asked}
        if FAILS in outcomes:
            return REFUTED
        independent = {tested.prediction.confound or tested.prediction.cell for tested in asked}
        if outcomes == {HOLDS} and len(independent) >= 2:
            return SURVIVES
        return OPEN if asked else NOT_TESTED


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
        tested = tuple(
            _tested(p, cells[p.cell], cells.get(p.baseline, ())) for p in explanation.predictions if p.cell in cells
        )
        if tested:
            found.append(Judged(explanation, tested))
    return found


def _tested(prediction: Prediction, entries: Sequence[Entry], baseline: Sequence[Entry]) -> Tested:
    metric = LEFT[prediction.level]
    left, base = (by_seed(members, metric) for members in (entries, baseline))
    pairs = [prediction.share(left[seed], base[seed]) for seed in sorted(left.keys() & base.keys())]
    shares = [share for share in pairs if math.isfinite(share)]
    share = summarise(shares, planned=len(entries), diverged=0)
    found = Tested(prediction, summary(entries, metric), summary(baseline, metric), share, NOT_TESTED)
    if entries[0].run.scale == "smoke" or not any(entry.record for entry in entries):
        return replace(found, why="no record")  # smoke runs prove nothing
    if diverged(entries) or diverged(baseline):
        return replace(found, outcome=OPEN, why="a run diverged")
    there = found.baseline.mean if prediction.of == "kept" else 1 - found.baseline.mean
    if not there >= SOMETHING:  # also where no baseline has run
        return replace(found, why=f"the baseline has {prediction.of} nothing to speak of")
    if len(shares) < ENOUGH:
        return replace(found, outcome=OPEN, why="fewer than three seeds")
    return replace(found, outcome=prediction.test(*interval(shares)))
