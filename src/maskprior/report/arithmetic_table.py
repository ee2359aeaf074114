"""Table 2: arithmetic, as LaTeX (booktabs) and csv: what the paper prints, what we measured, and the verdicts."""

import math
from collections.abc import Sequence
from typing import Any

from maskprior.analysis.claims import Verdict
from maskprior.analysis.published import METRICS as ALL_METRICS
from maskprior.analysis.rows import PRIOR_IN_MAP, PRIOR_IN_WEIGHTS, Row, source_text, table_rows
from maskprior.config.settings import Settings
from maskprior.report.output import NOTHING, difference_text, interval, method_name, number, seeds, task_name
from maskprior.runs.spec import make_run, resolve

METRICS = ALL_METRICS["arithmetic"]
SEQUENCE = METRICS[0]


def arithmetic_rows(settings: Settings, verdicts: Sequence[Verdict]) -> list[Row]:
    """The rows of Table 2, with the prior before training."""
    return table_rows("T2", "arithmetic", settings, verdicts, more_metrics=(PRIOR_IN_MAP, PRIOR_IN_WEIGHTS))


def arithmetic_latex(rows: Sequence[Row]) -> str:
    """By task, a method a line: published; per scale ours with interval, sequence minus Default, prior and verdicts."""
    lines = [
        r"\begin{tabular}{@{}lrrrlllllrrccc@{}}",
        r"\toprule",
        r" & \multicolumn{3}{c}{published} & \multicolumn{5}{c}{ours, mean and interval}"
        r" & prior & & \multicolumn{3}{c}{verdict} \\",
        r"\cmidrule(lr){2-4}\cmidrule(lr){5-9}\cmidrule(l){12-14}",
        r"method & seq. & digit & loss & scale & sequence & digit & loss & seq. $-$ Default & in map & seeds"
        r" & s & d & l \\",
    ]
    task = method = ""
    for row in rows:
        if row.task != task:
            lines += [r"\midrule", rf"\multicolumn{{14}}{{@{{}}l}}{{{_label(row)}}} \\"]
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
        *(rf"\verdict{{{row.verdicts[m]}}}" if m in row.verdicts else "" for m in METRICS),
    ]


def arithmetic_frame(rows: Sequence[Row]) -> Any:
    """The same as a tidy pandas DataFrame: one row per cell, scale and metric, numbers in full precision."""
    import pandas as pd

    found = []
    for row in rows:
        for metric in METRICS:
            s, difference = row.measured[metric], row.differences.get(metric)
            found.append(
                {
                    "task": row.task, "train_fraction": train_fraction(row.task, row.method, row.scale),
                    "method": row.method, "scale": row.scale, "metric": metric,
                    "published": row.published.get(metric, ""), "mean": s.mean, "low": s.low, "high": s.high,
                    "median": s.median, "n": s.n, "planned": s.planned, "diverged": s.diverged,
                    "minus_default": difference.mean if difference else math.nan,
                    "minus_default_low": difference.low if difference else math.nan,
                    "minus_default_high": difference.high if difference else math.nan,
                    "minus_default_t_p": difference.t_p if difference else math.nan,
                    "minus_default_sign_p": difference.sign_p if difference else math.nan,
                    "prior_in_map": row.measured[PRIOR_IN_MAP].mean,
                    "prior_in_weights": row.measured[PRIOR_IN_WEIGHTS].mean,
                    "verdict": row.verdicts.get(metric, ""), "sources": source_text(row.sources),
                }
            )  # fmt: skip
    return pd.DataFrame(found)
