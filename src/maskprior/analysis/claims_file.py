"""What is claimed: each published number and each statement with its tests, from config/claims.yaml."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import yaml
from pydantic import Field, ValidationError, model_validator

from maskprior import paths
from maskprior.analysis.decide import Expected
from maskprior.analysis.published import Reported, first_prints, read_reported
from maskprior.config.base import Section
from maskprior.config.messages import one_line
from maskprior.errors import UserError


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

    @property
    def name(self) -> str:
        return f"{self.task} {self.method} {self.metric}"

    @property
    def methods(self) -> tuple[str, ...]:
        return (self.method,)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if not self.low < self.high or (math.isinf(self.low) and math.isinf(self.high)):
            raise ValueError(f"{self.name}: needs low < high, and at least one of them")
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

    @property
    def name(self) -> str:
        return f"{self.task} {self.method} {self.metric} against {self.than}"

    @property
    def methods(self) -> tuple[str, ...]:
        return self.method, self.than


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
class Claim:
    """A number or statement of the paper, and the tests of its direction.

    Attributes:
        tests: empty where the paper gives a number nothing to be compared with.
        reported: the published number; None for a statement. again: an earlier table prints it too.
    """

    id: str
    place: str
    statement: str
    experiment: str
    tests: tuple[Band | Comparison, ...]
    why: str
    tolerances: dict[str, Tolerance]  # of the experiment's metrics
    reported: Reported | None = None
    again: bool = False


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
    first = first_prints(reported)
    claims = [_published(row, reported, file, again=row.id not in first) for row in reported]
    for s in file.statements:
        tolerances = file.tolerances[s.experiment]
        claims.append(Claim(s.id, s.place, s.statement, s.experiment, tuple(s.tests), s.why, tolerances))
    repeated = [name for name, n in Counter(claim.id for claim in claims).items() if n > 1]
    if repeated:
        raise UserError(f"config/claims.yaml: {repeated[0]}: this id occurs more than once")
    return claims


def _published(row: Reported, reported: Sequence[Reported], file: ClaimsFile, *, again: bool) -> Claim:
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
    place = f"Table {row.table[1:]}"
    return Claim(row.id, place, statement, row.experiment, tuple(tests), why, tolerances, row, again)


def _default_row(row: Reported, reported: Sequence[Reported]) -> Reported:
    """The Default number a published number stands beside: of its own table."""
    key = (row.table, row.experiment, row.task, "default", row.metric)
    return next(r for r in reported if (r.table, r.experiment, r.task, r.method, r.metric) == key)


def _direction(difference: float, margin: float) -> Expected:
    if abs(difference) <= margin:
        return "equal"
    return "greater" if difference > 0 else "less"
