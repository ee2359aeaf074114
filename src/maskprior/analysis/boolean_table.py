"""Tables 1 and 4: what the paper prints, what we measured, and the verdict, as LaTeX (booktabs) and csv."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from maskprior.analysis.aggregate import Summary
from maskprior.analysis.claims import Verdict, summary
from maskprior.analysis.output import NOTHING, interval, method_name, number, seeds, task_name
from maskprior.analysis.records import Entry, cells, load_target, reference, sources
from maskprior.config.settings import Settings
from maskprior.runs.spec import make_run, resolve

METRICS = ("test_loss", "test_accuracy")
BEST = "best_test_loss"
PRIOR_IN_MAP, PRIOR_IN_WEIGHTS = "init_fidelity_alignment", "init_fidelity_position_open_mass"


@dataclass(frozen=True)
class Row:
    """One cell of a table at one scale, all its numbers, and what the paper prints there.

    Attributes:
        published: metric -> digits as printed; verdicts: metric -> verdict; both only where the paper has a number.
        measured: metric -> summary, with `best_test_loss` and the prior before training: the attention map's
            alignment with the pattern, and the open mass of the query-key attention to positions alone.
        mdi: what the exact minimum-degree interpolator scores; None before any run is there.
    """

    task: str
    method: str
    scale: str
    published: dict[str, str]
    verdicts: dict[str, str]
    measured: dict[str, Summary]
    mdi: dict[str, float | None]
    sources: dict[str, int]


def boolean_rows(table: str, settings: Settings, verdicts: Sequence[Verdict]) -> list[Row]:
    """The rows of Table 1 (`T1`) or 4 (`T4`): each cell at the chosen scale, and at the paper's if it has records."""
    found = []
    target = f"table{table[1:]}"
    at_scale = cells(load_target(target, settings))
    paper: dict[tuple[str, str], list[Entry]] = {}
    if settings.scale != "paper":
        paper = cells(load_target(target, settings.model_copy(update={"scale": "paper"})))
    by_cell: dict[tuple[str, str, str], Verdict] = {}
    for verdict in verdicts:
        r = verdict.claim.reported
        if r and (r.table, r.experiment) == (table, "boolean"):
            by_cell[r.task, r.method, r.metric] = verdict
    for (task, method), entries in at_scale.items():
        found.append(_row(task, method, entries, by_cell))
        more = paper.get((task, method), [])
        if any(entry.record for entry in more):
            found.append(_row(task, method, more, by_cell))
    # Tasks in the order of the plan, methods within a task.
    order = list(dict.fromkeys(task for task, _ in at_scale))
    return sorted(found, key=lambda row: order.index(row.task))


def _row(task: str, method: str, entries: Sequence[Entry], verdicts: dict[tuple[str, str, str], Verdict]) -> Row:
    scale = entries[0].run.scale
    here = {metric: verdicts[task, method, metric] for metric in METRICS if (task, method, metric) in verdicts}
    published = {metric: v.claim.reported.digits for metric, v in here.items() if v.claim.reported}
    # A verdict is given at one scale: the other row of the cell has none of its own.
    judged = {metric: v.verdict for metric, v in here.items() if v.scale == scale}
    measured = {metric: summary(entries, metric) for metric in (*METRICS, BEST, PRIOR_IN_MAP, PRIOR_IN_WEIGHTS)}
    mdi = {metric: reference(entries, f"mdi_{metric}") for metric in METRICS}
    return Row(task, method, scale, published, judged, measured, mdi, sources(entries))


def boolean_latex(rows: Sequence[Row]) -> str:
    """A booktabs table: task and method; published; ours with interval; best during training; n; prior; verdicts."""
    lines = [
        r"\begin{tabular}{@{}llrrllrrrrcc@{}}",
        r"\toprule",
        r" & & \multicolumn{2}{c}{published} & \multicolumn{2}{c}{ours, mean and interval} & best"
        r" & & \multicolumn{2}{c}{prior at start} & \multicolumn{2}{c}{verdict} \\",
        r"\cmidrule(lr){3-4}\cmidrule(lr){5-6}\cmidrule(lr){9-10}\cmidrule(l){11-12}",
        r"task & method & loss & acc. & loss & accuracy & loss & seeds & map & weights & loss & acc. \\",
    ]
    controls = [row for row in rows if "+" in row.method]
    for task in dict.fromkeys(row.task for row in rows):
        lines.append(r"\midrule")
        own = [row for row in rows if row.task == task and row not in controls]
        label = task_name(task)
        if (smaller := smaller_cube(own[0])) is not None:
            label += rf" {{\scriptsize\color{{quiet}}$d={smaller}$}}"
        lines += [_latex_row(row, label if row is own[0] else "") for row in own]
        mdi = next((row.mdi for row in own if row.mdi["test_loss"] is not None), None)
        if mdi is not None:
            loss, accuracy = (number(mdi[metric] or 0.0, metric) for metric in METRICS)
            lines.append(rf" & \emph{{exact interpolator}} & & & {loss} & {accuracy} & & & & & & \\")
    if controls:
        lines.append(r"\midrule")
        lines.append(r"\multicolumn{12}{@{}l}{\emph{Controls}} \\")
        firsts = {row.task: row for row in reversed(controls)}
        lines += [_latex_row(row, task_name(row.task) if row is firsts[row.task] else "") for row in controls]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines)


def _latex_row(row: Row, first: str) -> str:
    method = method_name(row.method)
    if row.scale == "paper":
        method = rf"{method} \atpaper"
    loss, accuracy = (row.measured[metric] for metric in METRICS)
    columns = [
        first,
        method,
        *(row.published.get(metric, NOTHING) for metric in METRICS),
        interval(loss, "test_loss"),
        interval(accuracy, "test_accuracy"),
        number(row.measured[BEST].mean, BEST),
        seeds(loss),
        number(row.measured[PRIOR_IN_MAP].mean, PRIOR_IN_MAP, digits=2),
        number(row.measured[PRIOR_IN_WEIGHTS].mean, PRIOR_IN_WEIGHTS, digits=2),
        *(_verdict_mark(row, metric) for metric in METRICS),
    ]
    return " & ".join(columns) + r" \\"


def smaller_cube(row: Row) -> int | None:
    """The dimension of the row's task where it is not the paper's: another domain, which has to be said."""
    dimension, paper = (_dimension(row.task, scale) for scale in (row.scale, "paper"))
    return None if dimension == paper else dimension


def _dimension(task: str, scale: str) -> int:
    config: Any = resolve(make_run("boolean", task, "default", scale=scale))
    return int(config.dimension)


def _verdict_mark(row: Row, metric: str) -> str:
    return rf"\verdict{{{row.verdicts[metric]}}}" if metric in row.verdicts else ""


def boolean_frame(rows: Sequence[Row]) -> Any:
    """The same as a tidy pandas DataFrame: one row per cell, scale and metric, numbers in full precision."""
    import pandas as pd

    found = []
    for row in rows:
        for metric in METRICS:
            s = row.measured[metric]
            found.append(
                {
                    "task": row.task, "dimension": _dimension(row.task, row.scale), "method": row.method,
                    "scale": row.scale, "metric": metric,
                    "published": row.published.get(metric, ""), "mean": s.mean, "low": s.low, "high": s.high,
                    "median": s.median, "n": s.n, "planned": s.planned, "diverged": s.diverged,
                    "best_during_training": row.measured[BEST].mean if metric == "test_loss" else math.nan,
                    "prior_in_map": row.measured[PRIOR_IN_MAP].mean,
                    "prior_in_weights": row.measured[PRIOR_IN_WEIGHTS].mean, "mdi": row.mdi[metric],
                    "verdict": row.verdicts.get(metric, ""), "sources": _sources(row.sources),
                }
            )  # fmt: skip
    return pd.DataFrame(found)


def note(rows: Sequence[Row], settings: Settings) -> str:
    """From where a table's records come, as one LaTeX line under it."""
    total = dict.fromkeys(("published", "local", "missing"), 0)
    for row in rows:
        for name, n in row.sources.items():
            total[name] += n
    paper = r" Rows marked \atpaper{} are at the paper's scale." if any(
        row.scale != settings.scale for row in rows
    ) else ""  # fmt: skip
    return rf"\tablenote{{Scale: {settings.scale}. Records: {_sources(total)}.{paper}}}"


def _sources(count: dict[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in count.items() if n) or "none"
