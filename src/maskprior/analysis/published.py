"""What the paper prints: its numbers as printed, and which of them it prints in each experiment's tables."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from maskprior import paths

METRICS = {
    "boolean": ("test_loss", "test_accuracy"),
    "arithmetic": ("sequence_accuracy", "digit_accuracy", "test_loss"),
    "vision": ("best_top1",),
    "language": ("val_perplexity", "test_perplexity"),
}


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
    def cell_metric(self) -> tuple[str, str, str, str]:
        """What the number is of. The paper's Tables 4 and 5 print some numbers of Tables 1 and 3 again."""
        return self.experiment, self.task, self.method, self.metric

    @property
    def value(self) -> float:
        return float(self.digits)

    @property
    def half_unit(self) -> Decimal:
        """Half a unit of the last printed digit: how far rounding can have moved the value."""
        return Decimal(5).scaleb(int(Decimal(self.digits).as_tuple().exponent) - 1)


def read_reported() -> list[Reported]:
    """The 112 published numbers, in the order of the file.

    `addition_0.4pct` names the train fraction as well; it is the one our task of that name has.
    """
    with open(paths.config() / "reported_values.csv", newline="") as stream:
        rows = [row | {"task": row["task"].partition("_")[0]} for row in csv.DictReader(stream)]
    keys = ("table", "experiment", "task", "method", "metric", "value", "unit")
    return [Reported(*(row[key] for key in keys)) for row in rows]


def first_prints(reported: Sequence[Reported]) -> set[str]:
    """The ids of the numbers that no earlier table prints: one for each of the 86 cells and metrics."""
    first: dict[tuple[str, str, str, str], str] = {}
    for row in reported:
        first.setdefault(row.cell_metric, row.id)
    return set(first.values())


def inconsistencies(reported: Sequence[Reported]) -> list[tuple[Reported, Reported]]:
    """Pairs of published numbers for the same cell that differ by more than the rounding of their last digits."""
    return [
        (first, second)
        for i, first in enumerate(reported)
        for second in reported[i + 1 :]
        if first.cell_metric == second.cell_metric
        and abs(Decimal(first.digits) - Decimal(second.digits)) > first.half_unit + second.half_unit
    ]
