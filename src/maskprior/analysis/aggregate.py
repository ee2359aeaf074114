"""Numbers with intervals from a few seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Summary:
    """A metric of one cell over its seeds.

    Attributes:
        mean, median: over the `n` completed runs that have the metric; NaN when there is none.
        low, high: 95 % t-interval of the mean; NaN for fewer than two values.
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
        return self.n >= 2


@dataclass(frozen=True)
class Difference:
    """A metric of one cell minus that of another, paired by seed.

    Attributes:
        values: the n paired differences, in the order of the seeds.
        t_p: two-sided p of the paired t-test; sign_p: of the exact sign test, which assumes no distribution (its
            smallest possible value is 2^(1-n): 0.0625 for five seeds).
    """

    mean: float
    low: float
    high: float
    n: int
    values: tuple[float, ...]
    t_p: float
    sign_p: float


def t_interval(values: Sequence[float]) -> tuple[float, float]:
    """mean ± t(0.975, n-1) s / sqrt(n), s the sample standard deviation; (NaN, NaN) for n < 2."""
    n = len(values)
    if n < 2:
        return math.nan, math.nan
    array = np.asarray(values, dtype=np.float64)
    half = float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2)) * float(array.std(ddof=1)) / math.sqrt(n)
    return float(array.mean()) - half, float(array.mean()) + half


def summarise(values: Sequence[float], *, planned: int, diverged: int = 0) -> Summary:
    """Mean, median and interval of the values; ValueError when there are more values than planned runs."""
    if len(values) + diverged > planned:
        raise ValueError(f"{len(values)} values and {diverged} diverged runs of {planned} planned ones")
    low, high = t_interval(values)
    mean = float(np.mean(values)) if len(values) else math.nan
    median = float(np.median(values)) if len(values) else math.nan
    return Summary(mean, median, low, high, len(values), planned, diverged)


def paired_difference(left: Mapping[int, float], right: Mapping[int, float]) -> Difference:
    """left - right over the seeds both have."""
    values = tuple(left[seed] - right[seed] for seed in sorted(left.keys() & right.keys()))
    low, high = t_interval(values)
    mean = float(np.mean(values)) if values else math.nan
    return Difference(mean, low, high, len(values), values, _paired_t(values), sign_test(values))


def sign_test(values: Sequence[float]) -> float:
    """Exact two-sided p of 'a difference is as often positive as negative'; differences of zero do not count."""
    positive, negative = sum(v > 0 for v in values), sum(v < 0 for v in values)
    n = positive + negative
    tail = sum(math.comb(n, k) for k in range(min(positive, negative) + 1)) / 2**n
    return min(1.0, 2 * tail)


def _paired_t(values: Sequence[float]) -> float:
    n = len(values)
    if n < 2:
        return math.nan
    array = np.asarray(values, dtype=np.float64)
    mean, deviation = float(array.mean()), float(array.std(ddof=1))
    if deviation == 0:
        return 1.0 if mean == 0 else 0.0
    return 2 * float(stdtr(n - 1, -abs(mean) / (deviation / math.sqrt(n))))
