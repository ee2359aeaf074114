"""The rows of any results table: what the paper prints for a cell, what we measured, and what it says."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from maskprior.analysis.aggregate import Difference, Summary
from maskprior.analysis.claims import Judgement
from maskprior.analysis.measured import difference, summary
from maskprior.analysis.published import METRICS
from maskprior.analysis.records import Entry, cells, load_target, sources
from maskprior.config.settings import Settings
from maskprior.runs.spec import targets

# The prior before training: the attention map's alignment with the pattern, and the mass that the query-key weights put
# on open entries given positions alone.
PRIOR_IN_MAP, PRIOR_IN_WEIGHTS = "init_fidelity_alignment", "init_fidelity_position_open_mass"
# The targets whose cells stand under a table of the paper, beside those of the table's own target.
CONTROLS = {"T1": ("matched",)}


@dataclass(frozen=True)
class Row:
    """One cell of a table at one scale, all its numbers, and what the paper prints there.

    Attributes:
        published: metric -> digits as printed; judged: metric -> what this scale says of it; both only where the paper
            has a number.
        measured: metric -> summary; differences: metric -> the cell against Default, paired by seed (not for Default).
        reference: what known solutions score; empty before any run is there.
    """

    experiment: str
    task: str
    method: str
    scale: str
    published: dict[str, str]
    judged: dict[str, Judgement]
    measured: dict[str, Summary]
    differences: dict[str, Difference]
    reference: dict[str, float]
    sources: dict[str, int]


def table_rows(
    table: str,
    experiment: str,
    settings: Settings,
    judgements: Sequence[Judgement],
    *,
    more_metrics: Sequence[str] = (),
) -> list[Row]:
    """The rows of the paper's table `T<n>`: the runs of the target `table<n>` and its controls, for one experiment.

    Each cell stands there at the chosen scale if it is planned there, and at the paper's if it has records or is
    planned only there. Tasks are in the order of the plan, methods within a task. Measured are what the paper prints
    (METRICS) and `more_metrics`.
    """
    metrics = (*METRICS[experiment], *more_metrics)
    judged: dict[tuple[str, ...], Judgement] = {}
    printed: dict[tuple[str, ...], str] = {}
    for judgement in judgements:
        r = judgement.claim.reported
        if r and (r.table, r.experiment) == (table, experiment):
            judged[r.task, r.method, judgement.scale, r.metric] = judgement
            printed[r.task, r.method, r.metric] = r.digits
    at_scale = _cells(table, experiment, settings)
    paper: dict[tuple[str, str], list[Entry]] = {}
    if settings.scale != "paper":
        paper = _cells(table, experiment, settings.model_copy(update={"scale": "paper"}))
    found = []
    for task, method in dict.fromkeys([*at_scale, *paper]):
        planned = (task, method) in at_scale
        if planned:
            found.append(_row(task, method, at_scale, printed, judged, metrics))
        members = paper.get((task, method), [])
        if any(entry.record for entry in members) or not planned:
            found.append(_row(task, method, paper, printed, judged, metrics))
    order = list(dict.fromkeys(row.task for row in found))
    return sorted(found, key=lambda row: order.index(row.task))


def total_sources(rows: Iterable[Row]) -> str:
    """`140 published, 2 missing`: where the rows' records come from."""
    total = dict.fromkeys(("published", "local", "missing"), 0)
    for row in rows:
        for name, n in row.sources.items():
            total[name] += n
    return source_text(total)


def source_text(count: dict[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in count.items() if n) or "none"


def _cells(table: str, experiment: str, settings: Settings) -> dict[tuple[str, str], list[Entry]]:
    wanted = [f"table{table[1:]}", *(target for target in CONTROLS.get(table, ()) if target in targets())]
    entries = [entry for target in wanted for entry in load_target(target, settings)]
    return cells([entry for entry in entries if entry.run.experiment == experiment])


def _row(
    task: str,
    method: str,
    by_cell: dict[tuple[str, str], list[Entry]],
    printed: dict[tuple[str, ...], str],
    judged: dict[tuple[str, ...], Judgement],
    metrics: Sequence[str],
) -> Row:
    entries = by_cell[task, method]
    run = entries[0].run
    published = {m: printed[task, method, m] for m in metrics if (task, method, m) in printed}
    here = {m: judged[task, method, run.scale, m] for m in metrics if (task, method, run.scale, m) in judged}
    measured = {metric: summary(entries, metric) for metric in metrics}
    default = by_cell.get((task, "default"), [])
    differences = {m: difference(entries, default, m) for m in metrics if method != "default"}
    known = {name: value for entry in reversed(entries) for name, value in entry.reference.items()}
    return Row(run.experiment, task, method, run.scale, published, here, measured, differences, known, sources(entries))
