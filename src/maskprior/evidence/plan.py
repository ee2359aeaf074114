"""Which runs a target needs, and which of them have a record."""

from collections import Counter
from dataclasses import replace

from rich.console import Console

from maskprior.config.messages import unknown
from maskprior.config.settings import Settings
from maskprior.errors import UserError
from maskprior.runs.fingerprint import fingerprint
from maskprior.runs.spec import Run, parse_run, planned_runs
from maskprior.runs.store import Resolved, relative, resolve_record

FORMATS = ("table", "tsv", "paths")
SOURCES = ("published", "local", "missing")


def target_runs(target: str, settings: Settings) -> list[Run]:
    """The runs of a target (`table1`, `all`), or the one run that `target` names."""
    return [parse_run(target, scale=settings.scale)] if "/" in target else planned_runs(target, settings)


def planned(target: str, settings: Settings) -> list[Resolved]:
    runs = target_runs(target, settings)
    # A cell's seeds share their fingerprint, the slow part of a path: each cell is asked for it once.
    identity = {cell: fingerprint(cell).short for cell in {replace(run, seed=0) for run in runs}}
    return [resolve_record(run, identity[replace(run, seed=0)], recompute=settings.recompute) for run in runs]


def show(records: list[Resolved], *, only: str | None, format: str) -> None:
    """Print the plan. `tsv` has the columns source, run, path; `paths` the bare paths, one a line."""
    if format not in FORMATS:
        raise UserError(f"--format: {unknown(format, FORMATS)}")
    if only is not None and only not in SOURCES:
        raise UserError(f"--only: {unknown(only, SOURCES)}")
    listed = [record for record in records if only in (None, record.source)]
    if format == "tsv":
        print("source\trun\tpath")
    for record in listed:
        if format == "tsv":
            print(record.source, record.run.name, relative(record.path), sep="\t")
        elif format == "paths":
            print(relative(record.path))
    if format == "table":
        _print_table(listed)
        counts = Counter(record.source for record in records)
        print(f"{len(records)} runs: " + ", ".join(f"{counts[source]} {source}" for source in SOURCES))


def _print_table(records: list[Resolved]) -> None:
    colours = {"published": "green", "local": "cyan", "missing": "yellow"}
    width = max((len(record.run.name) for record in records), default=0)
    console = Console(soft_wrap=True, highlight=False)
    for record in records:
        source = f"[{colours[record.source]}]{record.source:9}[/]"
        console.print(f"{source}  {record.run.name:{width}}  {relative(record.path)}")
