"""How often the rules err: intervals and outcomes of made-up cells, whose truth is known.

docs/protocol.md says how often they may.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskprior.analysis.aggregate import interval, paired_difference
from maskprior.analysis.axes import LOG, PERCENT, Axis
from maskprior.analysis.decide import CONTRADICTED, DIFFERS, HOLDS, decide_direction, decide_value

CELLS = 2000
SEEDS = (3, 5)

Array = np.ndarray[Any, Any]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


@dataclass(frozen=True)
class Kind:
    """A kind of cell. All runs of a cell are drawn from the same distribution.

    Attributes:
        mean: the true mean; of losses the geometric one.
        seeds: draws runs. steady: draws runs with the same mean, of which all lie close together.
    """

    name: str
    axis: Axis
    mean: float
    seeds: Draw
    steady: Draw


def _skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Losses around 0.1 whose logarithms are skewed too: most seeds are a little better, some much worse."""
    return 0.1 * np.exp((rng.gamma(2.0, size=shape) - 2) / np.sqrt(2))


def _bimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A seed finds the rest of the answer (75 %) or does not (50 %), each as often as the other."""
    return rng.choice([50.0, 75.0], size=shape) + rng.normal(0, 0.5, size=shape)


KINDS = (
    Kind("skewed losses", LOG, 0.1, _skewed, lambda rng, shape: 0.1 * np.exp(rng.normal(0, 0.1, size=shape))),
    # Shares of 90 % with a deviation of 8 points, close to the upper bound; and of 1 point.
    Kind(
        "bounded accuracies", PERCENT, 90.0,
        lambda rng, shape: 100 * rng.beta(11.79, 1.31, size=shape),
        lambda rng, shape: 100 * rng.beta(809.1, 89.9, size=shape),
    ),
    Kind("bimodal cells", PERCENT, 62.5, _bimodal, lambda rng, shape: rng.normal(62.5, 0.5, size=shape)),
)  # fmt: skip


@dataclass(frozen=True)
class Rates:
    """What came of the cells of one kind with n seeds, as shares of all cells.

    Attributes:
        covered: the 95 % interval of the mean holds the true mean.
        differs: a published number that is one more seed of the same cell is said to differ.
        holds, contradicted: said of a direction between two cells of this kind, of which neither is better.
        steady_holds, steady_contradicted: the same against steady cells of the same mean. The expected sign is that of
            a greater value in the cell of this kind.
    """

    kind: str
    n: int
    cells: int
    covered: float
    differs: float
    holds: float
    contradicted: float
    steady_holds: float
    steady_contradicted: float


def study(cells: int = CELLS) -> list[Rates]:
    """The rates of every kind and number of seeds, from one fixed seed of the random numbers."""
    rng = np.random.default_rng(2026)
    return [_rates(kind, n, cells, rng) for kind in KINDS for n in SEEDS]


def _rates(kind: Kind, n: int, cells: int, rng: np.random.Generator) -> Rates:
    seeds, others = kind.seeds(rng, (cells, n)).tolist(), kind.seeds(rng, (cells, n)).tolist()
    steady, published = kind.steady(rng, (cells, n)).tolist(), kind.seeds(rng, (cells,)).tolist()
    intervals = [interval(cell, kind.axis) for cell in seeds]
    values = [
        decide_value(cell, number, half_unit=0.0, tolerance=0.0, axis=kind.axis).outcome
        for cell, number in zip(seeds, published, strict=True)
    ]
    alike, unlike = (_directions(seeds, compared, kind.axis) for compared in (others, steady))
    return Rates(
        kind.name, n, cells,
        sum(low <= kind.mean <= high for low, high in intervals) / cells,
        values.count(DIFFERS) / cells,
        alike.count(HOLDS) / cells, alike.count(CONTRADICTED) / cells,
        unlike.count(HOLDS) / cells, unlike.count(CONTRADICTED) / cells,
    )  # fmt: skip


def _directions(left: Sequence[Sequence[float]], right: Sequence[Sequence[float]], axis: Axis) -> list[str]:
    return [
        decide_direction(
            paired_difference(dict(enumerate(a)), dict(enumerate(b)), axis=axis), "greater", margin=0.0
        ).outcome
        for a, b in zip(left, right, strict=True)
    ]
