"""Tables 1 and 4: what the paper prints, what we measured, and what it says, as LaTeX (booktabs) and csv."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from maskprior.analysis.claims import Judgement
from maskprior.analysis.published import METRICS as ALL_METRICS
from maskprior.analysis.rows import PRIOR_IN_MAP, PRIOR_IN_WEIGHTS, Row, source_text, table_rows
from maskprior.config.settings import Settings
from maskprior.report.outcomes import cell_columns, direction_mark, outcome_columns, value_mark
from maskprior.report.output import NOTHING, interval, method_name, note, number, seeds, task_name, title
from maskprior.runs.spec import make_run, resolve

__all__ = ["boolean_frame", "boolean_latex", "boolean_rows", "note", "smaller_cube"]

METRICS = ALL_METRICS["boolean"]
BEST = "best_test_loss"


def boolean_rows(table: str, settings: Settings, judgements: Sequence[Judgement]) -> list[Row]:
    """The rows of Table 1 (`T1`) or 4 (`T4`), with the best loss during training and the prior before it."""
    return table_rows(table, "boolean", settings, judgements, more_metrics=(BEST, PRIOR_IN_MAP, PRIOR_IN_WEIGHTS))


def boolean_latex(rows: Sequence[Row]) -> str:
    """A booktabs table: task and method; published; ours with interval; best during training; n; prior; outcomes."""
    lines = [
        r"\begin{tabular}{@{}llrrllrrrrcccc@{}}",
        r"\toprule",
        r" & & \multicolumn{2}{c}{published} & \multicolumn{2}{c}{ours, mean and interval} & best"
        r" & & \multicolumn{2}{c}{prior at start} & \multicolumn{2}{c}{value} & \multicolumn{2}{c}{direction} \\",
        r"\cmidrule(lr){3-4}\cmidrule(lr){5-6}\cmidrule(lr){9-10}\cmidrule(lr){11-12}\cmidrule(l){13-14}",
        r"task & method & loss & acc. & loss & accuracy & loss & seeds & map & weights & loss & acc. & loss & acc. \\",
    ]
    controls = [row for row in rows if "+" in row.method]
    for task in dict.fromkeys(row.task for row in rows):
        lines.append(r"\midrule")
        own = [row for row in rows if row.task == task and row not in controls]
        label = task_name(task)
        if (smaller := smaller_cube(own[0])) is not None:
            label += rf" {{\scriptsize\color{{quiet}}$d={smaller}$}}"
        lines += _latex_rows(own, {task: label})
        mdi = next((row.reference for row in own if row.reference), None)
        if mdi is not None:
            loss, accuracy = (number(mdi[f"mdi_{metric}"], metric) for metric in METRICS)
            lines.append(rf" & \emph{{exact interpolator}} & & & {loss} & {accuracy} & & & & & & & & \\")
    for variant in dict.fromkeys(row.method.partition("+")[2] for row in controls):
        lines.append(r"\midrule")
        lines.append(rf"\multicolumn{{14}}{{@{{}}l}}{{\emph{{Controls: {title(variant)}}}}} \\")
        members = [row for row in controls if row.method.endswith(f"+{variant}")]
        lines += _latex_rows(members, {row.task: task_name(row.task) for row in members})
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines)


def _latex_rows(rows: Sequence[Row], labels: Mapping[str, str]) -> list[str]:
    """One line a row; a task's label and a method's name stand in the first of their rows only."""
    lines, above = [], ("", "")
    for row in rows:
        label = "" if row.task == above[0] else labels[row.task]
        name = "" if (row.task, row.method) == above else method_name(row.method.partition("+")[0])
        lines.append(_latex_row(row, label, name))
        above = (row.task, row.method)
    return lines


def _latex_row(row: Row, label: str, name: str) -> str:
    loss, accuracy = (row.measured[metric] for metric in METRICS)
    columns = [
        label,
        rf"{name} \atpaper".strip() if row.scale == "paper" else name,
        *(row.published.get(metric, NOTHING) for metric in METRICS),
        interval(loss, "test_loss"),
        interval(accuracy, "test_accuracy"),
        number(row.measured[BEST].mean, BEST),
        seeds(loss),
        number(row.measured[PRIOR_IN_MAP].mean, PRIOR_IN_MAP, digits=2),
        number(row.measured[PRIOR_IN_WEIGHTS].mean, PRIOR_IN_WEIGHTS, digits=2),
        *(value_mark(row.judged.get(metric)) for metric in METRICS),
        *(direction_mark(row.judged.get(metric)) for metric in METRICS),
    ]
    return " & ".join(columns) + r" \\"


def smaller_cube(row: Row) -> int | None:
    """The dimension of the row's task where it is not the paper's: another domain, which has to be said."""
    dimension, paper = (_dimension(row.task, scale) for scale in (row.scale, "paper"))
    return None if dimension == paper else dimension


def _dimension(task: str, scale: str) -> int:
    config: Any = resolve(make_run("boolean", task, "default", scale=scale))
    return int(config.dimension)


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
                    "metric": metric,
                    **cell_columns(row, metric), "median": s.median,
                    "best_during_training": row.measured[BEST].mean if metric == "test_loss" else math.nan,
                    "prior_in_map": row.measured[PRIOR_IN_MAP].mean,
                    "prior_in_weights": row.measured[PRIOR_IN_WEIGHTS].mean,
                    "mdi": row.reference.get(f"mdi_{metric}"),
                    **outcome_columns(row, metric), "sources": source_text(row.sources),
                }
            )  # fmt: skip
    return pd.DataFrame(found)
