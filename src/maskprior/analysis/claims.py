"""The paper's numbers and statements as tests on records. config/claims.yaml says how each is tested and why."""

import csv
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from maskprior import paths
from maskprior.analysis.aggregate import Summary, paired_difference, summarise, t_interval
from maskprior.analysis.records import Entry, by_seed, load_cell, reference
from maskprior.config.base import Section
from maskprior.config.messages import one_line
from maskprior.config.settings import Settings
from maskprior.errors import UserError

REPRODUCED, DIRECTION_ONLY, NOT_REPRODUCED, NOT_RUN = VERDICTS = (
    "reproduced", "direction only", "not reproduced", "not run"
)  # fmt: skip
# Below this many seeds a t-interval is too wide to decide anything: then every seed must pass on its own.
ENOUGH = 3

Expected = Literal["less", "greater", "equal"]
Cells = dict[tuple[str, str], list[Entry]]  # (task, method) -> its entries


class Tolerance(Section):
    """How far from a value still counts as that value: max(absolute, relative |value|)."""

    absolute: float = Field(gt=0)
    relative: float = Field(0.0, ge=0)
    why: str

    def at(self, value: float) -> float:
        return max(self.absolute, self.relative * abs(value))


class Band(Section):
    """The metric of a cell lies in [low, high], in units of `reference` (a name in the record) where one is given."""

    task: str
    method: str
    metric: str
    low: float = -math.inf
    high: float = math.inf
    reference: str | None = None

    model_config = Section.model_config | {"allow_inf_nan": True}

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if not self.low < self.high or (math.isinf(self.low) and math.isinf(self.high)):
            raise ValueError(f"{self.task} {self.method} {self.metric}: needs low < high, and at least one of them")
        return self


class Comparison(Section):
    """The metric of a cell is less than, greater than or equal to that of another method, paired by seed.

    Equal: within the metric's tolerance at the other method's mean.
    """

    task: str
    method: str
    metric: str
    than: str
    expected: Expected


class KnownSolution(Section):
    """Where a Default network is known to end up: the band that its published number stands for."""

    task: str
    metric: str
    low: float
    high: float
    reference: str | None = None
    why: str


class Statement(Section):
    id: str
    place: str
    statement: str
    experiment: str
    tests: list[Band | Comparison] = Field(min_length=1)
    why: str


class ClaimsFile(Section):
    """config/claims.yaml: experiment -> metric -> tolerance, experiment -> known solutions, and the statements."""

    tolerances: dict[str, dict[str, Tolerance]]
    known_solutions: dict[str, list[KnownSolution]]
    statements: list[Statement]


@dataclass(frozen=True)
class Reported:
    """A row of config/reported_values.csv. `digits`: the value as printed, which says how it was rounded."""

    table: str
    experiment: str
    task: str
    method: str
    metric: str
    digits: str
    unit: str

    @property
    def id(self) -> str:
        return f"{self.table}-{self.experiment}-{self.task}-{self.method}-{self.metric}"

    @property
    def value(self) -> float:
        return float(self.digits)


@dataclass(frozen=True)
class Claim:
    """A number or statement of the paper. All tests must hold; a number must also be within its tolerance."""

    id: str
    place: str
    statement: str
    experiment: str
    tests: tuple[Band | Comparison, ...]
    why: str
    tolerances: dict[str, Tolerance]  # of the experiment's metrics
    reported: Reported | None = None


@dataclass(frozen=True)
class Verdict:
    """What the records say about a claim at one scale.

    Attributes:
        ours: the published number's counterpart (for a statement: the metric of its first test).
        detail: one line: each test with its numbers, or what is missing.
        sources: how many of the runs used are published and local.
    """

    claim: Claim
    scale: str
    verdict: str
    detail: str
    ours: Summary | None = None
    sources: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Outcome:
    holds: bool | None  # None: not enough runs
    detail: str


def read_reported() -> list[Reported]:
    """The 112 published numbers, in the order of the file.

    `addition_0.4pct` names the train fraction as well; it is the one our task of that name has.
    """
    with open(paths.config() / "reported_values.csv", newline="") as stream:
        rows = [row | {"task": row["task"].partition("_")[0]} for row in csv.DictReader(stream)]
    keys = ("table", "experiment", "task", "method", "metric", "value", "unit")
    return [Reported(*(row[key] for key in keys)) for row in rows]


def read_claims_file() -> ClaimsFile:
    """config/claims.yaml, validated. UserError naming the key otherwise."""
    values = yaml.safe_load((paths.config() / "claims.yaml").read_text())
    try:
        return ClaimsFile.model_validate(values)
    except ValidationError as error:
        raise UserError(f"config/claims.yaml: {one_line(error, ClaimsFile)}") from None


def read_claims() -> list[Claim]:
    """Every published number, then every statement."""
    file = read_claims_file()
    reported = read_reported()
    claims = [_published(row, reported, file) for row in reported]
    for s in file.statements:
        tolerances = file.tolerances[s.experiment]
        claims.append(Claim(s.id, s.place, s.statement, s.experiment, tuple(s.tests), s.why, tolerances))
    repeated = [name for name, n in Counter(claim.id for claim in claims).items() if n > 1]
    if repeated:
        raise UserError(f"config/claims.yaml: {repeated[0]}: this id occurs more than once")
    return claims


def evaluate(settings: Settings, claims: Sequence[Claim] | None = None) -> list[Verdict]:
    """One verdict per claim (default: all): at the paper's scale where it has records, else at the chosen one."""
    records = _Records()
    paper = settings.model_copy(update={"scale": "paper"})
    verdicts = []
    for claim in read_claims() if claims is None else claims:
        at_paper = judge(claim, records.at(paper))
        verdicts.append(at_paper if at_paper.verdict != NOT_RUN else judge(claim, records.at(settings)))
    return verdicts


def count(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """How often each verdict occurs, all four named."""
    found = Counter(verdict.verdict for verdict in verdicts)
    return {name: found[name] for name in VERDICTS}


def inconsistencies(reported: Sequence[Reported]) -> list[tuple[Reported, Reported]]:
    """Pairs of published numbers for the same cell that differ by more than the rounding of their last digits."""
    pairs = []
    for i, first in enumerate(reported):
        for second in reported[i + 1 :]:
            same = (first.experiment, first.task, first.method, first.metric) == (
                second.experiment, second.task, second.method, second.metric
            )  # fmt: skip
            if same and abs(Decimal(first.digits) - Decimal(second.digits)) > (_rounding(first) + _rounding(second)):
                pairs.append((first, second))
    return pairs


class _Records:
    """Cells read once, whatever number of claims use them."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, ...], list[Entry]] = {}

    def at(self, settings: Settings) -> "_AtScale":
        return _AtScale(self._cells, settings)


@dataclass(frozen=True)
class _AtScale:
    cells: dict[tuple[str, ...], list[Entry]]
    settings: Settings

    def cell(self, experiment: str, task: str, method: str) -> list[Entry]:
        key = (self.settings.scale, experiment, task, method)
        if key not in self.cells:
            self.cells[key] = load_cell(experiment, task, method, self.settings)
        return self.cells[key]


def judge(claim: Claim, records: _AtScale) -> Verdict:
    """The verdict on a claim at one scale, from the records that are there.

    Smoke runs prove nothing: `not run`. At the reduced scale, which is another experiment than the paper's,
    `direction only` is the best there is, and numbers are never compared. At the paper's scale a statement is
    `reproduced` when its tests hold, a number when it is within its tolerance as well; a cell with a diverged run is
    never `reproduced`.
    """
    scale = records.settings.scale
    keys = [(test.task, method) for test in claim.tests for method in _methods(test)]
    used = {key: records.cell(claim.experiment, *key) for key in keys}
    ours = None
    if claim.reported:
        key = (claim.reported.task, claim.reported.method)
        used[key] = records.cell(claim.experiment, *key)
        ours = summary(used[key], claim.reported.metric)
    elif claim.tests:
        ours = summary(used[claim.tests[0].task, claim.tests[0].method], claim.tests[0].metric)
    sources = dict(Counter(entry.source for entries in used.values() for entry in entries if entry.record))
    verdict = Verdict(claim, scale, NOT_RUN, "", ours, sources)

    if not all(any(entry.record for entry in entries) for entries in used.values()):
        empty = next(key for key, entries in used.items() if not any(entry.record for entry in entries))
        return replace(verdict, detail=f"no record of {claim.experiment}/{'/'.join(empty)}")
    if scale == "smoke":
        return replace(verdict, detail="smoke runs prove nothing")
    if scale == "reduced" and not claim.tests:
        return replace(verdict, detail="no known solution to compare with below the paper's scale")

    outcomes = [_test(test, used, claim.tolerances) for test in claim.tests]
    details = [outcome.detail for outcome in outcomes]
    diverged = sum(entry.status == "diverged" for entries in used.values() for entry in entries)
    if diverged:
        details.append(f"{diverged} diverged")
    holds = all(outcome.holds for outcome in outcomes)
    if any(outcome.holds is None for outcome in outcomes):
        return replace(verdict, verdict=NOT_REPRODUCED if diverged else NOT_RUN, detail="; ".join(details))

    within = scale == "paper"
    if within and claim.reported and ours:
        tolerance = claim.tolerances[claim.reported.metric].at(claim.reported.value)
        within = abs(ours.mean - claim.reported.value) <= tolerance
        details.append(f"{'within' if within else 'outside'} {claim.reported.digits} ± {tolerance:.3g}")
    name = NOT_REPRODUCED
    if holds and within and not diverged:
        name = REPRODUCED
    elif holds and claim.tests:
        name = DIRECTION_ONLY
    return replace(verdict, verdict=name, detail="; ".join(details))


def summary(entries: Sequence[Entry], metric: str) -> Summary:
    """A metric of one cell over its planned seeds."""
    values = list(by_seed(entries, metric).values())
    return summarise(values, planned=len(entries), diverged=sum(entry.status == "diverged" for entry in entries))


def _published(row: Reported, reported: Sequence[Reported], file: ClaimsFile) -> Claim:
    try:
        tolerance = file.tolerances[row.experiment][row.metric]
    except KeyError:
        raise UserError(f"config/claims.yaml: tolerances: {row.experiment}: {row.metric} is missing") from None
    tests: list[Band | Comparison] = []
    why = tolerance.why
    if row.method == "default":
        for known in file.known_solutions.get(row.experiment, []):
            if (known.task, known.metric) == (row.task, row.metric):
                tests.append(Band(method=row.method, **known.model_dump(exclude={"why"})))
                why = f"{known.why} {why}"
    else:
        other = _default_row(row, reported)
        expected = _direction(row.value - other.value, tolerance.at(other.value))
        tests.append(Comparison(task=row.task, method=row.method, metric=row.metric, than="default", expected=expected))
    statement = f"{row.task}, {row.method}: {row.metric} {row.digits} ({row.unit})"
    tolerances = file.tolerances[row.experiment]
    return Claim(row.id, f"Table {row.table[1:]}", statement, row.experiment, tuple(tests), why, tolerances, row)


def _default_row(row: Reported, reported: Sequence[Reported]) -> Reported:
    """The Default number a published number stands beside: of its own table."""
    key = (row.table, row.experiment, row.task, "default", row.metric)
    return next(r for r in reported if (r.table, r.experiment, r.task, r.method, r.metric) == key)


def _direction(difference: float, margin: float) -> Expected:
    if abs(difference) <= margin:
        return "equal"
    return "greater" if difference > 0 else "less"


def _rounding(row: Reported) -> Decimal:
    exponent = Decimal(row.digits).as_tuple().exponent
    return Decimal(5).scaleb(int(exponent) - 1)


def _methods(test: Band | Comparison) -> tuple[str, ...]:
    return (test.method, test.than) if isinstance(test, Comparison) else (test.method,)


def _test(test: Band | Comparison, used: Cells, tolerances: dict[str, Tolerance]) -> _Outcome:
    entries = used[test.task, test.method]
    name = f"{test.task} {test.method} {test.metric}"
    if isinstance(test, Band):
        values = list(by_seed(entries, test.metric).values())
        unit = 1.0 if test.reference is None else reference(entries, test.reference)
        if not values or unit is None:
            return _Outcome(None, f"{name}: no value")
        low, high = _reach(values)
        holds = test.low * unit <= low and high <= test.high * unit
        band = f"[{test.low * unit:.4g}, {test.high * unit:.4g}]"
        return _Outcome(holds, f"{name} {_interval(values)} {'in' if holds else 'not in'} {band}")

    right = by_seed(used[test.task, test.than], test.metric)
    difference = paired_difference(by_seed(entries, test.metric), right)
    name = f"{name} - {test.than}"
    if difference.n == 0:
        return _Outcome(None, f"{name}: no pair of seeds")
    if test.metric not in tolerances:
        raise UserError(f"config/claims.yaml: tolerances: {test.metric} is missing, but a statement compares it")
    margin = tolerances[test.metric].at(sum(right.values()) / len(right))
    low, high = _reach(difference.values)
    # Without an interval a difference has to be larger than what counts as no difference.
    least = 0.0 if difference.n >= ENOUGH else margin
    holds = {"less": high < -least, "greater": low > least, "equal": -margin <= low and high <= margin}[test.expected]
    expected = f"equal within {margin:.3g}" if test.expected == "equal" else test.expected
    detail = f"{name} = {_interval(difference.values)} {'is' if holds else 'is not'} {expected}"
    return _Outcome(holds, detail)


def _reach(values: Sequence[float]) -> tuple[float, float]:
    """What must pass a test: the 95 % interval, or every single value where there are too few for one."""
    return t_interval(values) if len(values) >= ENOUGH else (min(values), max(values))


def _interval(values: Sequence[float]) -> str:
    mean = sum(values) / len(values)
    if len(values) < ENOUGH:
        return f"{mean:.4g} (n = {len(values)})"
    low, high = t_interval(values)
    return f"{mean:.4g} [{low:.4g}, {high:.4g}] (n = {len(values)})"


def row(verdict: Verdict) -> dict[str, Any]:
    """A verdict as a flat row of claims.csv."""
    claim, ours = verdict.claim, verdict.ours
    return {
        "id": claim.id,
        "place": claim.place,
        "statement": claim.statement,
        "published": claim.reported.digits if claim.reported else "",
        "scale": verdict.scale,
        "mean": "" if ours is None or math.isnan(ours.mean) else repr(ours.mean),
        "low": "" if ours is None or math.isnan(ours.low) else repr(ours.low),
        "high": "" if ours is None or math.isnan(ours.high) else repr(ours.high),
        "n": ours.n if ours else 0,
        "planned": ours.planned if ours else 0,
        "diverged": ours.diverged if ours else 0,
        "verdict": verdict.verdict,
        "detail": verdict.detail,
        "sources": ", ".join(f"{n} {name}" for name, n in sorted(verdict.sources.items())),
        "why": claim.why,
    }
