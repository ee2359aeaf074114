"""Is a rerun the published result? Bit for bit on the same device class, within a stated tolerance on another."""

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import zip_longest

from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.table import Table

from maskprior.errors import DATA, DIFFERENCE, UserError
from maskprior.evidence.verify import check_local, check_published, command
from maskprior.runs.environment import device_class
from maskprior.runs.record import Record
from maskprior.runs.spec import Run
from maskprior.runs.store import record_path, relative


@dataclass(frozen=True)
class Tolerance:
    """Another device class may differ by `absolute` + `relative` x |published|, in the quantity's own unit."""

    quantity: str
    absolute: float
    relative: float
    reason: str


# Other instruction sets and thread counts change the order of sums, and training amplifies that with every update.
# In each table the first row whose pattern matches the quantity counts.
NEARLY_EQUAL = "which of nearly equal values is the best is decided by rounding"
ANY_STEP = (Tolerance("best_step", math.inf, 0, NEARLY_EQUAL), Tolerance("best_epoch", math.inf, 0, NEARLY_EQUAL))
SMOKE_TOLERANCES = (
    *ANY_STEP,
    Tolerance("*top1", 5, 0, "percent; one or two of 48 images may get another answer"),
    Tolerance("*accuracy", 2, 0, "percent; one of 64 unseen inputs may cross the threshold"),
    Tolerance("*", 1e-5, 1e-4, "60 updates: SSE instead of AVX2 moved no metric by more than a few 1e-6"),
)
TOLERANCES = (
    *ANY_STEP,
    Tolerance("*top1", 1, 0, "percent; images near a border between classes may cross it"),
    Tolerance("loss_head*", 1e-5, 1e-4, "32 updates: SSE instead of AVX2 moved no loss by more than 3e-7 of its value"),
    Tolerance("init_fidelity*", 1e-5, 1e-4, "measured before training: rounding alone"),
    Tolerance("*accuracy", 1, 0, "percent; inputs near the threshold may cross it where the loss moves a little"),
    Tolerance("*", 0.01, 0.05, "judged: SSE instead of AVX2 moved one mask run by 2e-6; others were not compared"),
)


class Numbers(BaseModel):
    """What two records are compared by."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    metrics: dict[str, float | None]
    loss_head: list[float]
    arrays_sha256: str


@dataclass(frozen=True)
class Row:
    """One quantity of both records. `allowed` is the largest |difference| that passes, 0 meaning: equal bit for bit."""

    quantity: str
    published: float | None
    local: float | None
    allowed: float

    @property
    def difference(self) -> float | None:
        return None if self.published is None or self.local is None else self.local - self.published

    @property
    def passes(self) -> bool:
        if self.difference is None:
            return self.published is None and self.local is None
        return abs(self.difference) <= self.allowed


@dataclass(frozen=True)
class Comparison:
    """Two records of one run, quantity by quantity. `arrays_equal`: their arrays are the same bytes."""

    run: Run
    same_class: bool
    rows: tuple[Row, ...]
    arrays_equal: bool

    @property
    def bit_for_bit(self) -> bool:
        return self.arrays_equal and all(row.published == row.local for row in self.rows)

    @property
    def passes(self) -> bool:
        return self.bit_for_bit if self.same_class else all(row.passes for row in self.rows)

    @property
    def verdict(self) -> str:
        if self.bit_for_bit:
            return "equal bit for bit"
        if self.same_class:
            return "NOT EQUAL on the same device class, where every bit must agree"
        where = "on another device class, so compared within the tolerance"
        return f"within the tolerance ({where})" if self.passes else f"OUTSIDE THE TOLERANCE ({where})"


def numbers(record: Record) -> Numbers:
    return Numbers(metrics=record.metrics, loss_head=record.loss_head, arrays_sha256=record.arrays_sha256)


def compare(published: Record, local: Record) -> Comparison:
    """Compare metrics, first losses and arrays of two records of one run."""
    same_class = device_class(published.environment) == device_class(local.environment)
    return compare_numbers(published.run, numbers(published), numbers(local), same_class=same_class)


def compare_numbers(run: Run, published: Numbers, local: Numbers, *, same_class: bool) -> Comparison:
    pairs = {name: (published.metrics.get(name), local.metrics.get(name)) for name in published.metrics | local.metrics}
    losses = enumerate(zip_longest(published.loss_head, local.loss_head))
    pairs |= {f"loss_head[{step}]": pair for step, pair in losses}
    return Comparison(
        run=run,
        same_class=same_class,
        rows=tuple(Row(name, a, b, 0.0 if same_class else tolerance(run, name, a)) for name, (a, b) in pairs.items()),
        arrays_equal=published.arrays_sha256 == local.arrays_sha256,
    )


def tolerance(run: Run, quantity: str, published: float | None) -> float:
    """The largest |difference| that passes on another device class."""
    table = SMOKE_TOLERANCES if run.scale == "smoke" else TOLERANCES
    row = next(row for row in table if fnmatchcase(quantity, row.quantity))
    return row.absolute + row.relative * abs(published or 0.0)


def show(comparison: Comparison) -> None:
    """Print every metric of both records, the first loss that differs most, and the verdict."""
    losses = [row for row in comparison.rows if row.quantity.startswith("loss_head")]
    metrics = [row for row in comparison.rows if row not in losses]
    table = Table("quantity", box=None, pad_edge=False)
    for column in ("published", "local", "difference", "allowed"):
        table.add_column(column, justify="right")
    table.add_column("")
    for row in [*metrics, *sorted(losses, key=_size, reverse=True)[:1]]:
        values = [_number(value) for value in (row.published, row.local, row.difference, row.allowed)]
        table.add_row(row.quantity, *values, _word(row))
    console = Console(highlight=False, soft_wrap=True)
    console.width = max(console.width, 110)  # numbers are there to be read in full
    console.print(f"[bold]{comparison.run.name}[/] at scale {comparison.run.scale}")
    console.print(table)
    arrays = "equal" if comparison.arrays_equal else "different"
    print(f"loss_head: the largest difference of {len(losses)} losses is shown; arrays: {arrays}")
    console.print(f"[{'green' if comparison.passes else 'red'}]{comparison.run.name}: {comparison.verdict}[/]")


def _word(row: Row) -> str:
    if row.published == row.local:
        return "[green]equal[/]"
    return "[green]within[/]" if row.passes else "[red]outside[/]"


def _size(row: Row) -> float:
    return math.inf if row.difference is None else abs(row.difference)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def compare_all(runs: list[Run]) -> None:
    """Compare every run that has both records. UserError with exit code 4 if one does not pass, 3 if there is none."""
    if not runs:
        raise UserError("no run is planned here at this scale, so there is nothing to compare")
    there = [run for run in runs if record_path(run, "local").exists()]
    if not there:
        run = runs[0]
        raise UserError(f"{relative(record_path(run, 'local'))}: no local record; train it with `{command(run)}`", DATA)
    failed = []
    for run in there:
        comparison = compare(check_published(run), check_local(run))
        show(comparison)
        if not comparison.passes:
            failed.append(run.name)
    if len(runs) > 1:
        print(f"{len(there)} of {len(runs)} runs have a local record; {len(there) - len(failed)} of them pass")
    if failed:
        raise UserError(
            f"{len(failed)} of {len(there)} local records differ from the published: {', '.join(failed)}", DIFFERENCE
        )
