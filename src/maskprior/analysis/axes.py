"""On which axis a number lives: losses are compared as ratios, and what has bounds stays between them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

# A loss of exactly zero has no logarithm. No loss of these experiments is as small as this one.
SMALLEST_LOSS = 1e-12
# An accuracy of 0 or 100 percent has no logit. Half an answer is counted right, and half a one wrong, of so many
# answers: the smallest of the paper's test sets have about ten thousand.
ANSWERS = 10_000


@dataclass(frozen=True)
class Axis:
    """The range of a number: from `low` to `high`, either of which may be infinite.

    Without bounds a number is taken as it is; bounded below by zero, by its logarithm; bounded on both sides, by the
    logit of its share of the range.
    """

    low: float = -math.inf
    high: float = math.inf

    @property
    def is_log(self) -> bool:
        return self.low == 0 and math.isinf(self.high)

    @property
    def is_bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def width(self) -> float:
        return self.high - self.low

    def forward(self, values: Sequence[float]) -> Any:
        """The values on the axis, with the half-count correction where it has two bounds."""
        array = np.asarray(values, dtype=np.float64)
        if self.is_log:
            return np.log(np.maximum(array, SMALLEST_LOSS))
        if self.is_bounded:
            return logit((self.share(array) * ANSWERS + 0.5) / (ANSWERS + 1))
        return array

    def back(self, value: float) -> float:
        """The inverse of `forward`, inside the range."""
        if self.is_log:
            return math.exp(value)
        if self.is_bounded:
            share = (float(expit(value)) * (ANSWERS + 1) - 0.5) / ANSWERS
            return self.low + self.width * min(max(share, 0.0), 1.0)
        return value

    def share(self, values: Any) -> Any:
        """Where values lie in a bounded range, 0 to 1. Rounding may put a cosine a trace above 1."""
        return np.clip((values - self.low) / self.width, 0.0, 1.0)


PLAIN, LOG = Axis(), Axis(0, math.inf)
PERCENT, SHARE, COSINE = Axis(0, 100), Axis(0, 1), Axis(-1, 1)

# The endings of metrics' names, the first that fits counts. What is retained of a prior is a ratio that can have
# either sign, and may exceed 1: it has no bounds.
_ENDINGS: tuple[tuple[tuple[str, ...], Axis], ...] = (
    (("loss", "perplexity", "perplexity_exact", "bits_per_byte"), LOG),
    (("accuracy", "top1"), PERCENT),
    (("function_best", "function_final", "open_mass", "open_mass_chance"), SHARE),
    (("gap_initial", "gap_final", "slope_initial", "slope_final"), PLAIN),
    (("reach_initial", "reach_final"), LOG),
    (("_initial", "_final", "alignment"), COSINE),
)


def axis_of(metric: str) -> Axis:
    """The axis of a metric, by its name."""
    return next((axis for endings, axis in _ENDINGS if metric.endswith(endings)), PLAIN)
