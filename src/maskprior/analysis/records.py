"""From planned runs to what is known of them. Missing and diverged runs stay in the list: n is always n of planned."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from maskprior.analysis import persistence
from maskprior.config.settings import Settings
from maskprior.runs.manifest import check_stated
from maskprior.runs.record import Arrays, Record, read_arrays, read_record
from maskprior.runs.spec import Run, built_experiments, cell_runs, experiment_file, planned_runs
from maskprior.runs.store import Resolved, resolve_record

Status = Literal["completed", "diverged", "missing"]


@dataclass(frozen=True)
class Entry:
    """A planned run and its record, if there is one."""

    resolved: Resolved
    record: Record | None

    @property
    def run(self) -> Run:
        return self.resolved.run

    @property
    def source(self) -> str:
        """`published`, `local` or `missing`."""
        return self.resolved.source

    @property
    def status(self) -> Status:
        return self.record.status if self.record else "missing"

    @cached_property
    def arrays(self) -> Arrays:
        """The record's arrays; empty where there is no record."""
        return read_arrays(self.resolved.path, self.record) if self.record else {}

    @cached_property
    def metrics(self) -> dict[str, float]:
        """The final metrics that have a value, and what is left of the prior, from the arrays.

        A diverged run has none: its numbers are not results.
        """
        if self.record is None or self.status != "completed":
            return {}
        measured = {name: value for name, value in self.record.metrics.items() if value is not None}
        function = persistence.function_scalars(self.arrays, self.run.task, self.dimension)
        return measured | persistence.scalars(self.arrays) | function

    @property
    def dimension(self) -> int | None:
        """Of the cube that a Boolean run is tested on."""
        return self.record.config.get("dimension") if self.record else None

    @property
    def reference(self) -> dict[str, float]:
        return self.record.reference if self.record else {}


def load(runs: Iterable[Run], *, recompute: bool = False) -> list[Entry]:
    """The entry of every run. UserError (exit code 3) for a record that is corrupt or not what was published."""
    entries = []
    for run in runs:
        resolved = resolve_record(run, recompute=recompute)
        if resolved.source == "published":
            check_stated(resolved.path)
        record = read_record(resolved.path) if resolved.source != "missing" else None
        entries.append(Entry(resolved, record))
    return entries


def load_target(target: str, settings: Settings) -> list[Entry]:
    """The entries of a target's planned runs at the chosen scale."""
    return load(planned_runs(target, settings), recompute=settings.recompute)


def load_shown(target: str, settings: Settings) -> list[Entry]:
    """A target's entries at the paper's scale if it has a record there or is planned only there, else as chosen."""
    at_paper = load_target(target, settings.model_copy(update={"scale": "paper"}))
    if any(entry.record for entry in at_paper):
        return at_paper
    return load_target(target, settings) or at_paper


def load_beside(target: str, settings: Settings) -> list[Entry]:
    """A target's entries as chosen, and those of its cells that have a record at the paper's scale."""
    chosen = load_target(target, settings)
    if settings.scale == "paper":
        return chosen
    at_paper = cells(load_target(target, settings.model_copy(update={"scale": "paper"})))
    return [*chosen, *(e for members in at_paper.values() if any(m.record for m in members) for e in members)]


def load_cell(experiment: str, task: str, method: str, settings: Settings) -> list[Entry]:
    """The entries of one cell, one per planned seed; none for an experiment, task or method without configuration."""
    if experiment not in built_experiments():
        return []
    file = experiment_file(experiment)
    if task not in file["tasks"] or method.partition("+")[0] not in file["methods"]:
        return []
    return load(cell_runs(experiment, task, method, settings), recompute=settings.recompute)


def experiment_of(task: str) -> str:
    """The experiment that has the task: names of tasks are unique across experiments."""
    return next(name for name in built_experiments() if task in experiment_file(name)["tasks"])


def cells(entries: Sequence[Entry]) -> dict[tuple[str, str], list[Entry]]:
    """(task, method[+variant]) -> its entries in the order of the seeds; the cells in the order of the plan."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        found.setdefault((entry.run.task, entry.run.method_variant), []).append(entry)
    return found


def panels(entries: Sequence[Entry], tasks: Sequence[str]) -> list[tuple[str, str, list[Entry]]]:
    """(task, scale, its entries): the tasks in this order, each at every scale that the entries have of it."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        found.setdefault((entry.run.task, entry.run.scale), []).append(entry)
    return [(task, scale, found[task, scale]) for named in tasks for task, scale in found if task == named]


def by_seed(entries: Sequence[Entry], metric: str) -> dict[int, float]:
    """Seed -> value of a metric, for the completed runs that have it."""
    return {entry.run.seed: entry.metrics[metric] for entry in entries if metric in entry.metrics}


def reference(entries: Sequence[Entry], name: str) -> float | None:
    """What a known solution scores on the cell's task; None before any run is there."""
    return next((entry.reference[name] for entry in entries if name in entry.reference), None)


def sources(entries: Iterable[Entry]) -> dict[str, int]:
    """How many of the planned runs are published, local and missing; only what occurs."""
    count = {"published": 0, "local": 0, "missing": 0}
    for entry in entries:
        count[entry.source] += 1
    return {name: n for name, n in count.items() if n}


def frame(entries: Iterable[Entry]) -> Any:
    """A tidy pandas DataFrame: one row per planned run: its name, source, status and every metric (NaN if none)."""
    import pandas as pd

    rows = []
    for entry in entries:
        run = entry.run
        row: dict[str, Any] = {
            "experiment": run.experiment, "task": run.task, "method": run.method_variant, "scale": run.scale,
            "seed": run.seed, "source": entry.source, "status": entry.status,
        }  # fmt: skip
        rows.append(row | entry.metrics)
    return pd.DataFrame(rows)
