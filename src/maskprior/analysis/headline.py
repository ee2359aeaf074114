"""What stands above all tables: how many claims came out how, what chance alone would give, and every claim as csv."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from maskprior.analysis.aggregate import CONFIDENCE
from maskprior.analysis.claims import Judgement, Tested, same_test
from maskprior.analysis.claims_file import Comparison
from maskprior.analysis.columns import difference_columns
from maskprior.analysis.decide import CONTRADICTED, DIRECTIONS, FEW, HOLDS, NOT_TESTED, OPEN, VALUES


def by_claim(judgements: Sequence[Judgement]) -> dict[str, list[Judgement]]:
    """Claim id -> its judgements, the paper's scale first."""
    found: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        found.setdefault(judgement.claim.id, []).append(judgement)
    return found


def direction_of(members: Sequence[Judgement]) -> tuple[str | None, str]:
    """The direction of a claim over the scales, and the scale it is of.

    The paper's scale says it where it has an outcome, else the chosen one; with no outcome anywhere, `1 seed`.
    """
    for wanted in ((HOLDS, CONTRADICTED, OPEN), (FEW,), (NOT_TESTED,)):
        for judgement in members:
            if judgement.direction in wanted:
                return judgement.direction, judgement.scale
    return None, ""


@dataclass(frozen=True)
class Counts:
    """How the claims of one place came out.

    Attributes:
        claims: how many there are; a number that an earlier table prints too counts there alone.
        value: agrees, differs, open, 1 seed -> how many, at the paper's scale.
        direction: holds, contradicted, open, 1 seed -> how many; at_paper: how many of these at the paper's scale.
        not_tested: how many have neither.
    """

    place: str
    claims: int
    value: dict[str, int]
    direction: dict[str, int]
    at_paper: dict[str, int]
    not_tested: int


NUMBERS, STATEMENTS, ALL = "all numbers", "statements", "all"


def matrix(judgements: Sequence[Judgement]) -> list[Counts]:
    """A row for each of the paper's tables, for all numbers, for the statements and for all claims."""
    claims = [members for members in by_claim(judgements).values() if not members[0].claim.again]
    numbers = [members for members in claims if members[0].claim.reported]
    statements = [members for members in claims if not members[0].claim.reported]
    places = dict.fromkeys(members[0].claim.place for members in numbers)
    rows = [_counts(place, [m for m in numbers if m[0].claim.place == place]) for place in places]
    return [*rows, _counts(NUMBERS, numbers), _counts(STATEMENTS, statements), _counts(ALL, claims)]


def _counts(place: str, claims: Sequence[Sequence[Judgement]]) -> Counts:
    values = [next((j.value for j in members if j.value), None) for members in claims]
    directions = [direction_of(members) for members in claims]
    silent = [value in (None, NOT_TESTED) and found in (None, NOT_TESTED)
              for value, (found, _) in zip(values, directions, strict=True)]  # fmt: skip
    return Counts(
        place, len(claims),
        {name: values.count(name) for name in VALUES},
        {name: sum(found == name for found, _ in directions) for name in DIRECTIONS},
        {name: directions.count((name, "paper")) for name in DIRECTIONS},
        sum(silent),
    )  # fmt: skip


@dataclass(frozen=True)
class Expectation:
    """How many comparisons for a sign there are, how many have an interval that excludes zero, and so on.

    Attributes:
        by_chance: how many would exclude it if no method differed from another; adjusted: how many remain below 5 %
            after the adjustment for all comparisons.
    """

    comparisons: int
    significant: int
    by_chance: float
    adjusted: int


def expectation(judgements: Sequence[Judgement]) -> Expectation:
    """What chance alone would give among the comparisons for a sign, each counted once."""
    found: dict[tuple[str, ...], Tested] = {}
    for j in judgements:
        for t in j.tested:
            if isinstance(t.test, Comparison) and t.test.expected != "equal" and math.isfinite(t.p_adjusted):
                found[same_test(j, t)] = t
    alpha = 1 - CONFIDENCE
    significant = sum(t.decision.p < alpha for t in found.values())
    return Expectation(len(found), significant, alpha * len(found), sum(t.p_adjusted < alpha for t in found.values()))


def row(judgement: Judgement) -> dict[str, Any]:
    """A judgement as a flat row of claims.csv."""
    claim, ours = judgement.claim, judgement.ours
    only = judgement.tested[0] if len(judgement.tested) == 1 else None
    return {
        "id": claim.id,
        "place": claim.place,
        "statement": claim.statement,
        "published": claim.reported.digits if claim.reported else "",
        "again": claim.again,
        "value": judgement.value or "",
        "direction": judgement.direction or "",
        "mean": ours.mean if ours else None,
        "mean_low": ours.low if ours else None,
        "mean_high": ours.high if ours else None,
        "seeds": ours.n if ours else 0,
        "seeds_planned": ours.planned if ours else 0,
        "diverged": judgement.diverged,
        **_difference(only, judgement.scale),
        "detail": judgement.detail,
        "sources": ", ".join(f"{n} {name}" for name, n in sorted(judgement.sources.items())),
        "why": claim.why,
    }


def test_rows(judgements: Sequence[Judgement]) -> list[dict[str, Any]]:
    """Every test of every claim as a row of tests.csv."""
    return [
        {
            "id": j.claim.id, "experiment": j.claim.experiment, "task": t.test.task, "method": t.test.method,
            "metric": t.test.metric, "than": t.test.than if isinstance(t.test, Comparison) else "",
            "expected": t.test.expected if isinstance(t.test, Comparison) else "band",
            "outcome": t.outcome, **_difference(t, j.scale), "detail": t.decision.detail,
        }
        for j in judgements
        for t in j.tested
    ]  # fmt: skip


def _difference(tested: Tested | None, scale: str) -> dict[str, Any]:
    if tested is None:
        return difference_columns(None, scale)
    decision = tested.decision
    return difference_columns(decision.difference, scale, p=decision.p, p_adjusted=tested.p_adjusted)
