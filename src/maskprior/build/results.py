"""Every number of every record as one table, a value a line: for pandas, R or a spreadsheet.

`python -m maskprior.build.results build/results.csv.gz` writes it; docs/results-table.md says what its columns mean.
"""

import csv
import gzip
import io
import re
import sys
from collections.abc import Iterable, Iterator

from maskprior.analysis.records import Entry, load_target
from maskprior.build.command import write_from_records
from maskprior.config.settings import Settings
from maskprior.runs.store import relative

COLUMNS = (
    *("experiment", "task", "method", "variant", "scale", "seed", "metric", "value", "unit"),
    *("record", "fingerprint", "status", "device", "seconds"),
)
# The first pattern that fits the end of a metric's name gives its unit.
UNITS = {
    "accuracy|top1": "percent",
    "perplexity(_exact)?": "perplexity",
    "bits_per_byte": "bits per byte",
    "step": "steps",
    "epoch": "epochs",
    "retention": "share of the start",
    "alignment|(map|mask|query_key)_(initial|final)": "cosine",
    "open_mass(_chance)?": "share of attention",
    "gap_(initial|final)|slope_(initial|final)|mask_(open|closed)(_decay_only)?": "nats",
    "reach_(initial|final)": "tokens",
    "strength_(initial|final)|function_(best|final)": "share of the most there can be",
}
LOSSES = {
    "boolean": "mean squared error",
    "arithmetic": "nats per digit",
    "vision": "nats",
    "language": "nats per token",
}


def unit(experiment: str, metric: str) -> str:
    """What a metric is measured in; empty for a number that has no unit."""
    if metric.endswith("loss"):
        return LOSSES.get(experiment, "")
    return next((name for pattern, name in UNITS.items() if re.search(rf"({pattern})$", metric)), "")


def rows(entries: Iterable[Entry]) -> Iterator[tuple[object, ...]]:
    """A row for every number of a record, in the order of the plan; a diverged record has one row without a number."""
    for entry in entries:
        record, run = entry.record, entry.run
        if record is None:
            continue
        cell = (run.experiment, run.task, run.method, run.variant, run.scale, run.seed)
        origin = (
            *(relative(entry.resolved.path), record.fingerprint.digest, record.status),
            *(record.environment.get("device", ""), record.environment.get("seconds", "")),
        )
        values: dict[str, float | str] = {**entry.metrics} or {"": ""}
        for metric, value in sorted(values.items()):
            yield (*cell, metric, value, unit(run.experiment, metric), *origin)


def packed(entries: Iterable[Entry]) -> bytes:
    """The table as gzipped CSV. Numbers are written in full, and equal records give equal bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows(entries))
    return gzip.compress(text.getvalue().encode(), mtime=0)


def table(settings: Settings) -> bytes:
    """The table of the chosen scale's records and of those at the paper's scale."""
    scales = dict.fromkeys([settings.scale, "paper"])
    found = [load_target("all", settings.model_copy(update={"scale": scale})) for scale in scales]
    return packed(entry for entries in found for entry in entries)


def main(arguments: list[str] | None = None) -> int:
    return write_from_records("results", __doc__, table, arguments)


if __name__ == "__main__":
    sys.exit(main())
