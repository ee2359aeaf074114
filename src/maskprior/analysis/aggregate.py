"""Numbers with intervals from a few seeds."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit, logit

from maskprior.analysis.axes import PLAIN, Axis

CONFIDENCE = 0.95
# Below this many seeds an interval is too wide to decide anything: none is given, and no outcome.
ENOUGH = 3


@dataclass(frozen=True)
class Summary:
    """A metric of one cell over its seeds.

    Attributes:
        mean, median: over the `n` completed runs that have the metric; NaN when there is none. Of losses and
            perplexities the mean is the geometric one.
        low, high: 95 % interval of the mean, inside the metric's range; NaN for fewer than three values.
        planned, diverged: runs of the cell that were planned, and that diverged. n < planned shows what is missing.
    """

    mean: float
    median: float
    low: float
    high: float
    n: int
    planned: int
    diverged: int = 0

    @property
    def has_interval(self) -> bool:
        return self.n >= ENOUGH


@dataclass(frozen=True)
class Difference:
    """A metric of one cell against that of another, paired by seed.

    It is a ratio for losses and perplexities, else left - right.

    Attributes:
        mean, low, high: of ratios the geometric mean; 95 % interval, NaN for fewer than three pairs.
        values: the n paired ratios or differences, in the order of the seeds; planned: how many pairs were planned.
        p: two-sided p of the paired t-test, of ratios on their logarithms; sign_p: of the exact sign test, which
            assumes no distribution (its smallest possible value is 2^(1-n): 0.0625 for five seeds).
    """

    mean: float
    low: float
    high: float
    n: int
    planned: int
    values: tuple[float, ...]
    ratio: bool
    p: float
    sign_p: float

    @property
    def none(self) -> float:
        """What no difference is."""
        return 1.0 if self.ratio else 0.0

    @property
    def has_interval(self) -> bool:
        return self.n >= ENOUGH

    @property
    def steps(self) -> tuple[float, ...]:
        """The pairs where no difference is 0: logarithms of ratios, else the differences."""
        return tuple(map(math.log, self.values)) if self.ratio else self.values


def mean_of(values: Sequence[float], axis: Axis = PLAIN) -> float:
    """The arithmetic mean, on a log axis the geometric one; NaN for no value."""
    if not len(values):
        return math.nan
    if axis.is_log:
        return axis.back(float(np.mean(axis.forward(values))))
    return float(np.mean(values))


def interval(values: Sequence[float], axis: Axis = PLAIN) -> tuple[float, float]:
    """The 95 % t-interval of the mean, taken where the numbers live; (NaN, NaN) for n < 2.

    On a log axis it is the interval of the mean logarithm. In a bounded range it is that of the mean's logit, whose
    standard error is the mean's own divided by u (1 - u), u the mean's share of the range: it holds the mean, and
    never leaves the range.
    """
    if len(values) < 2:
        return math.nan, math.nan
    if axis.is_log:
        low, high = _t_interval(axis.forward(values))
        return axis.back(low), axis.back(high)
    if not axis.is_bounded:
        return _t_interval(np.asarray(values, dtype=np.float64))
    shares = axis.share(np.asarray(values, dtype=np.float64))
    u = float(shares.mean())
    if shares.std(ddof=1) == 0 or not 0 < u < 1:
        bound = axis.low + axis.width * u
        return bound, bound
    half = _half_width(shares) / (u * (1 - u))
    low, high = (float(expit(logit(u) + side * half)) for side in (-1, 1))
    return axis.low + axis.width * min(low, u), axis.low + axis.width * max(high, u)


def prediction_interval(values: Sequence[float], axis: Axis = PLAIN) -> tuple[float, float]:
    """Where 95 % of further seeds would lie, mean ± t s sqrt(1 + 1/n) on the axis; (NaN, NaN) for n < 2."""
    n = len(values)
    if n < 2:
        return math.nan, math.nan
    there = axis.forward(values)
    centre, half = float(there.mean()), _half_width(there) * math.sqrt(n + 1)
    return axis.back(centre - half), axis.back(centre + half)


def bands(curves: Any, axis: Axis = PLAIN) -> tuple[Any, Any, Any]:
    """Mean, low and high of the curves (n seeds, T points), each of shape (T); no interval below three seeds."""
    means = np.array([mean_of(list(column), axis) for column in curves.T])
    low, high = np.full((2, len(means)), np.nan)
    if len(curves) >= ENOUGH:
        low, high = np.array([interval(list(column), axis) for column in curves.T]).T
    return means, low, high


def summarise(values: Sequence[float], *, planned: int, diverged: int = 0, axis: Axis = PLAIN) -> Summary:
    """Mean, median and interval of the values; ValueError when there are more values than planned runs."""
    if len(values) + diverged > planned:
        raise ValueError(f"{len(values)} values and {diverged} diverged runs of {planned} planned ones")
    low, high = interval(values, axis) if len(values) >= ENOUGH else (math.nan, math.nan)
    median = float(np.median(values)) if len(values) else math.nan
    return Summary(mean_of(values, axis), median, low, high, len(values), planned, diverged)


def paired_difference(
    left: Mapping[int, float], right: Mapping[int, float], *, axis: Axis = PLAIN, planned: int | None = None
) -> Difference:
    """left against right over the seeds both have; a ratio where the axis is a log one.

    The interval of a difference is cut where the range of the metric ends: no true difference is wider.
    """
    seeds = sorted(left.keys() & right.keys())
    steps = [
        float(a - b)
        for a, b in zip(
            _paired(left, seeds, axis), _paired(right, seeds, axis), strict=True
        )
    ]  # fmt: skip
    low, high = _t_interval(np.asarray(steps)) if len(steps) >= ENOUGH else (math.nan, math.nan)
    mean = float(np.mean(steps)) if steps else math.nan
    shown = math.exp if axis.is_log else float
    if axis.is_bounded:
        low, high = max(low, -axis.width), min(high, axis.width)
    return Difference(
        shown(mean), shown(low), shown(high), len(steps), len(seeds) if planned is None else planned,
        tuple(shown(step) for step in steps), axis.is_log, t_test(steps), sign_test(steps),
    )  # fmt: skip


def t_test(steps: Sequence[float]) -> float:
    """Two-sided p of 'the mean is 0'; NaN for fewer than two values."""
    if len(steps) < 2:
        return math.nan
    return float(_against(steps, 0.0, "two-sided"))


def equivalence_test(steps: Sequence[float], margin: float) -> float:
    """p of 'the mean is at least `margin` away from 0', by two one-sided t-tests; NaN for fewer than two values."""
    if len(steps) < 2:
        return math.nan
    return float(max(_against(steps, -margin, "greater"), _against(steps, margin, "less")))


def seeds_for_equivalence(steps: Sequence[float], margin: float, *, most: int = 10_000) -> int | None:
    """The fewest seeds with which the equivalence test could pass if the mean were 0 and the spread as it is."""
    deviation = float(np.std(steps, ddof=1))
    n = np.arange(2, most + 1)
    enough = stats.t.ppf(CONFIDENCE, n - 1) * deviation / np.sqrt(n) < margin
    return int(n[enough][0]) if enough.any() else None


def sign_test(values: Sequence[float]) -> float:
    """Exact two-sided p of 'a difference is as often positive as negative'; differences of zero do not count."""
    positive, negative = sum(v > 0 for v in values), sum(v < 0 for v in values)
    return float(stats.binomtest(positive, positive + negative).pvalue) if positive + negative else 1.0


def adjusted(ps: Sequence[float]) -> list[float]:
    """The p-values, adjusted after Benjamini and Hochberg for all of them together."""
    return [float(p) for p in stats.false_discovery_control(list(ps))] if ps else []


def _paired(values: Mapping[int, float], seeds: Sequence[int], axis: Axis) -> Any:
    chosen = [values[seed] for seed in seeds]
    return axis.forward(chosen) if axis.is_log else chosen


def _half_width(array: Any) -> float:
    n = len(array)
    return float(stats.t.ppf(0.5 + CONFIDENCE / 2, n - 1)) * float(array.std(ddof=1)) / math.sqrt(n)


def _t_interval(array: Any) -> tuple[float, float]:
    mean, half = float(array.mean()), _half_width(array)
    return mean - half, mean + half


def _against(steps: Sequence[float], value: float, alternative: str) -> float:
    """p of scipy's t-test. Seeds that all say the same have no spread: then the mean is certain."""
    mean = float(np.mean(steps))
    if float(np.std(steps, ddof=1)) <= 1e-12 * max(abs(mean), abs(value)):
        away = {"two-sided": mean != value, "greater": mean > value, "less": mean < value}[alternative]
        return 0.0 if away else 1.0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)  # nearly equal seeds: a p of about 0
        return float(stats.ttest_1samp(steps, value, alternative=alternative).pvalue)
