"""A record for people to read."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from maskprior.config.settings import Settings
from maskprior.runs.record import Record, read_arrays, read_record
from maskprior.runs.spec import parse_run
from maskprior.runs.store import relative, resolve_record

# (experiment, task, method, metric, value as printed)
Reported = tuple[str, str, str, str, str]


def find(record: str, settings: Settings) -> Path:
    """The record's path: given as such, or the one that a run's name resolves to."""
    if record.endswith(".json"):
        return Path(record)
    return resolve_record(parse_run(record, scale=settings.scale)).path


def show(path: Path, reported: Iterable[Reported]) -> None:
    """Print a record: every metric with the published value and the known solution's, then where it comes from."""
    record = read_record(path)
    arrays = read_arrays(path, record)
    run, where = record.run, record.environment
    console = Console(highlight=False, soft_wrap=True)
    console.width = max(console.width, 110)  # numbers are there to be read in full
    console.print(f"[bold]{record.run.name}[/] at scale {run.scale}: {record.status}")
    console.print(_metrics(record, reported))
    if run.scale != "paper":
        console.print(f"the published values belong to the paper's scale; this run is at scale {run.scale}")
    threads = f"{where['threads']} thread" + "s" * (where["threads"] != 1)
    console.print(f"ran on       {where['device']}, {where['platform']}, {threads}, {where['instruction_set']}")
    console.print(f"with         torch {where['torch']}, numpy {where['numpy']}, Python {where['python']}")
    console.print(f"seconds      {where['seconds']}")
    console.print(f"fingerprint  {record.fingerprint.digest}")
    for rekey in record.rekeyed:
        evidence = f"{rekey.replayed_losses} losses replayed bit for bit"
        console.print(f"re-stamped   from {rekey.old.digest[:8]} to {rekey.new.digest[:8]}: {evidence}")
    groups = Counter(name.split("/")[0] for name in sorted(arrays))
    console.print(f"arrays       {', '.join(f'{number} {group}' for group, number in groups.items())}")
    console.print(f"record       {relative(path.resolve())}")


def _metrics(record: Record, reported: Iterable[Reported]) -> Table:
    cell = (record.run.experiment, record.run.task, record.run.method)
    published: dict[str, list[str]] = {}
    for *of, metric, printed in reported:
        if tuple(of) == cell and not record.run.variant:
            published.setdefault(metric, []).append(printed)
    known = _by_solution(record.reference, record.metrics)
    table = Table("metric", box=None, pad_edge=False)
    for column in ("this run", "paper", *known):
        table.add_column(column, justify="right")
    for name, value in record.metrics.items():
        shown = "undefined" if value is None else f"{value:.6g}"
        solutions = (f"{values[name]:.6g}" if name in values else "" for values in known.values())
        table.add_row(name, shown, ", ".join(dict.fromkeys(published.get(name, []))), *solutions)
    return table


def _by_solution(reference: dict[str, float], metrics: Iterable[str]) -> dict[str, dict[str, float]]:
    """`mdi_test_loss: 4.0` as {"mdi": {"test_loss": 4.0}}: the metric is the longest one that ends the name."""
    known: dict[str, dict[str, float]] = {}
    for name, value in reference.items():
        fitting = [metric for metric in metrics if name.endswith(f"_{metric}")]
        if fitting:
            metric = max(fitting, key=len)
            known.setdefault(name.removesuffix(f"_{metric}"), {})[metric] = value
    return known
