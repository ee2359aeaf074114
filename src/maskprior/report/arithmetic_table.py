"""Table 2: arithmetic, as LaTeX (booktabs) and csv: what the paper prints, what we measured, and what it says."""

from collections.abc import Sequence
from typing import Any

from maskprior.analysis.claims import Judgement
from maskprior.analysis.published import METRICS as ALL_METRICS
from maskprior.analysis.rows import PRIOR_IN_MAP, PRIOR_IN_WEIGHTS, Row, source_text, table_rows
from maskprior.config.settings import Settings
from maskprior.report.outcomes import cell_columns, direction_mark, outcome_columns, value_mark
from maskprior.report.output import NOTHING, difference_text, interval, method_name, number, seeds, task_name
from maskprior.runs.spec import make_run, resolve

METRICS = ALL_METRICS["arithmetic"]
SEQUENCE = METRICS[0]


def arithmetic_rows(settings: Settings, judgements: Sequence[Judgement]) -> list[Row]:
    """The rows of Table 2, with the prior before training."""
    return table_rows("T2", "arithmetic", settings, judgements, more_metrics=(PRIOR_IN_MAP, PRIOR_IN_WEIGHTS))


def arithmetic_latex(rows: Sequence[Row]) -> str:
    """By task, a method a line: published; per scale ours with interval, sequence minus Default, prior, outcomes."""
    lines = [
        r"\begin{tabular}{@{}lrrrlllllrrcccccc@{}}",
        r"\toprule",
        r" & \multicolumn{3}{c}{published} & \multicolumn{5}{c}{ours, mean and interval}"
        r" & prior & & \multicolumn{3}{c}{value} & \multicolumn{3}{c}{direction} \\",
        r"\cmidrule(lr){2-4}\cmidrule(lr){5-9}\cmidrule(lr){12-14}\cmidrule(l){15-17}",
        r"method & seq. & digit & loss & scale & sequence & digit & loss & seq. $-$ Default & in map & seeds"
        r" & s & d & l & s & d & l \\",
    ]
    task = method = ""
    for row in rows:
        if row.task != task:
            lines += [r"\midrule", rf"\multicolumn{{17}}{{@{{}}l}}{{{_label(row)}}} \\"]
            method = ""
        first = [""] * 4 if row.method == method else _printed(row)
        lines.append(" & ".join([*first, *_ours(row)]) + r" \\")
        task, method = row.task, row.method
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _label(row: Row) -> str:
    percent = f"{100 * train_fraction(row.task, row.method, row.scale):g}"
    return rf"\emph{{{task_name(row.task)}}} {{\color{{quiet}}trained on {percent}\,\%}}"


def train_fraction(task: str, method: str, scale: str) -> float:
    """The part of all pairs that the cell's runs train on."""
    config: Any = resolve(make_run("arithmetic", task, method, scale=scale))
    return float(config.train_fraction)


def _printed(row: Row) -> list[str]:
    return [method_name(row.method), *(row.published.get(metric, NOTHING) for metric in METRICS)]


def _ours(row: Row) -> list[str]:
    return [
        row.scale,
        *(interval(row.measured[metric], metric) for metric in METRICS),
        difference_text(row.differences[SEQUENCE], SEQUENCE) if row.differences else "",
        number(row.measured[PRIOR_IN_MAP].mean, PRIOR_IN_MAP, digits=2),
        seeds(row.measured[SEQUENCE]),
        *(value_mark(row.judged.get(m)) for m in METRICS),
        *(direction_mark(row.judged.get(m)) for m in METRICS),
    ]


def arithmetic_frame(rows: Sequence[Row]) -> Any:
    """The same as a tidy pandas DataFrame: one row per cell, scale and metric, numbers in full precision."""
    import pandas as pd

    found = []
    for row in rows:
        for metric in METRICS:
            found.append(
                {
                    "task": row.task, "train_fraction": train_fraction(row.task, row.method, row.scale),
                    "method": row.method, "metric": metric,
                    **cell_columns(row, metric), "median": row.measured[metric].median,
                    "prior_in_map": row.measured[PRIOR_IN_MAP].mean,
                    "prior_in_weights": row.measured[PRIOR_IN_WEIGHTS].mean,
                    **outcome_columns(row, metric), "sources": source_text(row.sources),
                }
            )  # fmt: skip
    return pd.DataFrame(found)
