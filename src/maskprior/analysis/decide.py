"""What a few seeds allow to say of a published value, of the direction of a difference, of a band: numbers alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from maskprior.analysis.aggregate import (
    CONFIDENCE,
    ENOUGH,
    Difference,
    equivalence_test,
    interval,
    mean_of,
    prediction_interval,
    seeds_for_equivalence,
)
from maskprior.analysis.axes import PLAIN, Axis

# Of a value, and of a direction.
AGREES, DIFFERS = "agrees", "differs"
HOLDS, CONTRADICTED = "holds", "contradicted"
# Of both. The last two are no outcomes: fewer than three seeds, and nothing that could test it.
OPEN, FEW, NOT_TESTED = "open", "1 seed", "not tested"
VALUES = (AGREES, DIFFERS, OPEN, FEW)
DIRECTIONS = (HOLDS, CONTRADICTED, OPEN, FEW)

Expected = Literal["less", "greater", "equal"]


@dataclass(frozen=True)
class Decision:
    """An outcome, and why in one plain line.

    Attributes:
        inside: where fewer than three seeds decide nothing: whether all of them lie where they should.
        out: the test has nothing to speak of, and its claim rests on the others.
        difference, p: of a test that compares two methods; p is that of the test that decides.
    """

    outcome: str
    detail: str
    inside: bool | None = None
    difference: Difference | None = None
    p: float = math.nan
    out: bool = False


def decide_value(
    values: Sequence[float],
    published: float,
    *,
    half_unit: float,
    tolerance: float,
    axis: Axis = PLAIN,
    diverged: int = 0,
) -> Decision:
    """Could the published number be one more seed of ours?

    It agrees where it lies in the 95 % prediction interval of one further seed, widened by half a unit of its last
    digit, and within the tolerance of our mean; it differs where it lies outside that interval; else it is open. A
    cell with a diverged run never agrees.
    """
    if not values:
        return Decision(OPEN, _no_value(diverged)) if diverged else Decision(NOT_TESTED, "no value")
    if len(values) < ENOUGH:
        inside = all(abs(value - published) <= tolerance for value in values)
        shown = ", ".join(f"{value:.4g}" for value in values)
        where = f"{'inside' if inside else 'outside'} {published:g} ± {tolerance:.3g}"
        return Decision(FEW, f"{_seeds(len(values))}: {shown}, {where}", inside)
    low, high = prediction_interval(values, axis)
    low, high = low - half_unit, high + half_unit
    off = abs(mean_of(values, axis) - published)
    range_ = f"one further seed would lie in [{low:.4g}, {high:.4g}]"
    if not low <= published <= high:
        return Decision(DIFFERS, f"{range_}, {published:g} does not: off by {off:.3g}{_diverged(diverged)}")
    near = off <= tolerance
    detail = f"{range_}, as {published:g} does; the mean is {'within' if near else 'not within'} {tolerance:.3g} of it"
    return Decision(AGREES if near and not diverged else OPEN, detail + _diverged(diverged))


def decide_direction(difference: Difference, expected: Expected, *, margin: float, diverged: int = 0) -> Decision:
    """Does the difference have the expected sign, or, where none is expected, is it none?

    `margin`: how large a difference counts as none, on the difference's axis (of ratios: of the logarithm).
    """
    if difference.n == 0:
        return Decision(OPEN, _no_value(diverged)) if diverged else Decision(NOT_TESTED, "no pair of seeds")
    decided = _equal(difference, margin) if expected == "equal" else _sign(difference, expected)
    return _with_diverged(decided, diverged)


def decide_band(values: Sequence[float], low: float, high: float, *, axis: Axis = PLAIN, diverged: int = 0) -> Decision:
    """Does the interval of the mean lie in [low, high], or wholly outside it?"""
    if not values:
        return Decision(OPEN, _no_value(diverged)) if diverged else Decision(NOT_TESTED, "no value")
    band = _band(low, high)
    if len(values) < ENOUGH:
        inside = all(low <= value <= high for value in values)
        shown = ", ".join(f"{value:.4g}" for value in values)
        return Decision(FEW, f"{_seeds(len(values))}: {shown}, {'inside' if inside else 'outside'} {band}", inside)
    a, b = interval(values, axis)
    outcome = HOLDS if low <= a and b <= high else CONTRADICTED if b < low or a > high else OPEN
    text = {HOLDS: "lies", CONTRADICTED: "does not lie", OPEN: "lies only in part"}[outcome]
    shown = f"{mean_of(values, axis):.4g} [{a:.4g}, {b:.4g}] (n = {len(values)})"
    return _with_diverged(Decision(outcome, f"{shown} {text} {band}"), diverged)


def combine(outcomes: Sequence[str]) -> str:
    """All hold: holds. One is contradicted: contradicted. Else open, or what is said of tests that decide nothing."""
    found = set(outcomes)
    if CONTRADICTED in found:
        return CONTRADICTED
    if found == {HOLDS}:
        return HOLDS
    if found & {HOLDS, OPEN}:
        return OPEN
    return FEW if FEW in found else NOT_TESTED


def _sign(difference: Difference, expected: Expected) -> Decision:
    below = expected == "less"
    if not difference.has_interval:
        inside = all(step < 0 if below else step > 0 for step in difference.steps)
        side = "on the published side" if inside else "not on the published side"
        return Decision(FEW, f"{_seeds(difference.n)}: {shown(difference)}, {side} ({expected})", inside, difference)
    less, more = difference.high < difference.none, difference.low > difference.none
    outcome = HOLDS if (less if below else more) else CONTRADICTED if less or more else OPEN
    text = {HOLDS: f"is {expected}", CONTRADICTED: f"is not {expected}", OPEN: "may have either sign"}[outcome]
    return Decision(outcome, f"{shown(difference)} {text}", difference=difference, p=difference.p)


def _equal(difference: Difference, margin: float) -> Decision:
    steps = difference.steps
    within = f"within {_margin(difference, margin)}"
    if not difference.has_interval:
        inside = all(abs(step) <= margin for step in steps)
        detail = f"{_seeds(difference.n)}: {shown(difference)}, {'inside' if inside else 'outside'}: equal {within}"
        return Decision(FEW, detail, inside, difference)
    p = equivalence_test(steps, margin)
    low, high = interval(steps)
    if p < 1 - CONFIDENCE:
        return Decision(HOLDS, f"{shown(difference)} is equal {within}", difference=difference, p=p)
    if low > margin or high < -margin:
        return Decision(CONTRADICTED, f"{shown(difference)} is not equal {within}", difference=difference, p=p)
    needed = seeds_for_equivalence(steps, margin)
    detail = f"{shown(difference)} is not shown to be equal {within}"
    if needed is None or needed > difference.planned:
        many = "no number of seeds" if needed is None else f"no fewer than {needed} seeds"
        detail += f"; at this spread {many} could show it ({difference.planned} planned)"
    return Decision(OPEN, detail, difference=difference, p=p)


def _with_diverged(decided: Decision, diverged: int) -> Decision:
    """What holds is open where a run diverged: the runs that are left may be the ones that went well."""
    if not diverged:
        return decided
    outcome = OPEN if decided.outcome == HOLDS else decided.outcome
    return Decision(outcome, decided.detail + _diverged(diverged), decided.inside, decided.difference, decided.p)


def shown(difference: Difference) -> str:
    """`-0.4 [-2.066, 1.266] (n = 5)`, of a ratio `x 0.004 [0.001, 0.02] (n = 5)`."""
    sign = "× " if difference.ratio else ""
    text = f"{sign}{difference.mean:.4g}"
    if difference.has_interval:
        text += f" [{difference.low:.4g}, {difference.high:.4g}]"
    return f"{text} (n = {difference.n})"


def _margin(difference: Difference, margin: float) -> str:
    return f"a factor of {math.exp(margin):.4g}" if difference.ratio else f"{margin:.3g}"


def _band(low: float, high: float) -> str:
    if math.isinf(high):
        return f"above {low:.4g}"
    return f"below {high:.4g}" if math.isinf(low) else f"in [{low:.4g}, {high:.4g}]"


def _seeds(n: int) -> str:
    return "1 seed" if n == 1 else f"{n} seeds"


def _diverged(n: int) -> str:
    return f"; {n} diverged" if n else ""


def _no_value(diverged: int) -> str:
    return f"no value; {diverged} diverged"
