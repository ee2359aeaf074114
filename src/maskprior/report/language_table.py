"""Table 6: perplexities as the paper prints them and as we measured them, as LaTeX (booktabs) and csv."""

from collections.abc import Sequence
from typing import Any

from maskprior.analysis.claims import Verdict
from maskprior.analysis.published import METRICS
from maskprior.analysis.records import Entry
from maskprior.analysis.rows import Row, source_text, table_rows
from maskprior.config.settings import Settings
from maskprior.report.output import NOTHING, difference_text, interval, method_name, number, seeds, task_name

VAL, TEST = METRICS["language"]
EXACT = ("val_perplexity_exact", "test_perplexity_exact", "val_bits_per_byte", "test_bits_per_byte")
BITS = "test_bits_per_byte"


def language_rows(settings: Settings, verdicts: Sequence[Verdict]) -> list[Row]:
    """The rows of Table 6, with the exact perplexities and the bits per byte of the whole texts."""
    return table_rows("T6", "language", settings, verdicts, more_metrics=EXACT)


def language_latex(rows: Sequence[Row]) -> str:
    """Task and method; published; ours with interval; test minus Default's, paired; bits per byte; n; verdicts."""
    lines = [
        r"\begin{tabular}{@{}llrr@{\hskip 9pt}lllrrcc@{}}",
        r"\toprule",
        r" & & \multicolumn{2}{c}{published} & \multicolumn{2}{c}{ours, mean and interval} & test $-$ Default,"
        r" & bits & & \multicolumn{2}{c}{verdict} \\",
        r"\cmidrule(lr){3-4}\cmidrule(lr){5-6}\cmidrule(l){10-11}",
        r"task & method & val. & test & validation & test & paired by seed & a byte & seeds & val. & test \\",
    ]
    previous = None
    for row in rows:
        if row.task != previous:
            lines.append(r"\midrule")
        lines.append(_latex_row(row, task_name(row.task) if row.task != previous else ""))
        previous = row.task
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _latex_row(row: Row, first: str) -> str:
    method = method_name(row.method)
    if row.scale == "paper":
        method = rf"{method} \atpaper"
    columns = [
        first,
        method,
        *(row.published.get(metric, NOTHING) for metric in (VAL, TEST)),
        *(interval(row.measured[metric], metric) for metric in (VAL, TEST)),
        difference_text(row.differences[TEST], TEST) if TEST in row.differences else "",
        number(row.measured[BITS].mean, BITS, digits=3),
        seeds(row.measured[TEST]),
        *(rf"\verdict{{{row.verdicts[metric]}}}" if metric in row.verdicts else "" for metric in (VAL, TEST)),
    ]
    return " & ".join(columns) + r" \\"


def language_frame(rows: Sequence[Row]) -> Any:
    """The same as a tidy pandas DataFrame: one row per cell, scale and metric, numbers in full precision."""
    import pandas as pd

    found = []
    for row in rows:
        for metric in (VAL, TEST, *EXACT):
            s, d = row.measured[metric], row.differences.get(metric)
            found.append(
                {
                    "task": row.task, "method": row.method, "scale": row.scale, "metric": metric,
                    "published": row.published.get(metric, ""), "mean": s.mean, "low": s.low, "high": s.high,
                    "median": s.median, "n": s.n, "planned": s.planned, "diverged": s.diverged,
                    "minus_default": d.mean if d else None, "minus_default_low": d.low if d else None,
                    "minus_default_high": d.high if d else None, "t_p": d.t_p if d else None,
                    "sign_p": d.sign_p if d else None, "verdict": row.verdicts.get(metric, ""),
                    "sources": source_text(row.sources),
                }
            )  # fmt: skip
    return pd.DataFrame(found)


def samples(entries: Sequence[Entry], *, seed: int = 0) -> Any:
    """What each cell's network of a seed writes: task, method, prompt and continuation, as a pandas DataFrame."""
    import pandas as pd

    found = [
        {
            "task": task_name(entry.run.task),
            "method": method_name(entry.run.method_variant),
            "prompt": entry.record.labels["sample"][0],
            "continuation": entry.record.labels["sample"][1],
        }
        for entry in entries
        if entry.run.seed == seed and entry.record and "sample" in entry.record.labels
    ]
    return pd.DataFrame(found, columns=["task", "method", "prompt", "continuation"])
