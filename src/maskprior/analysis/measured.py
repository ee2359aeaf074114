"""A metric of a cell over its planned seeds, and of two cells against each other: the numbers of every table."""

from collections.abc import Sequence

from maskprior.analysis.aggregate import Difference, Summary, paired_difference, summarise
from maskprior.analysis.axes import axis_of
from maskprior.analysis.records import Entry, by_seed


def summary(entries: Sequence[Entry], metric: str) -> Summary:
    """A metric of one cell over its planned seeds, its interval where the metric lives."""
    values = list(by_seed(entries, metric).values())
    return summarise(values, planned=len(entries), diverged=diverged(entries), axis=axis_of(metric))


def difference(left: Sequence[Entry], right: Sequence[Entry], metric: str) -> Difference:
    """One cell against another, paired by seed: a ratio of losses and perplexities, else left - right."""
    planned = min(len(left), len(right))
    return paired_difference(by_seed(left, metric), by_seed(right, metric), axis=axis_of(metric), planned=planned)


def diverged(entries: Sequence[Entry]) -> int:
    return sum(entry.status == "diverged" for entry in entries)
