"""Table 6: perplexities as the paper prints them and as we measured them, as LaTeX (booktabs) and csv."""

from collections.abc import Sequence
from typing import Any

from maskprior.analysis.claims import Judgement
from maskprior.analysis.published import METRICS
from maskprior.analysis.records import Entry
from maskprior.analysis.rows import Row, source_text, table_rows
from maskprior.config.settings import Settings
from maskprior.report.outcomes import cell_columns, direction_mark, outcome_columns, value_mark
from maskprior.report.output import NOTHING, difference_text, interval, method_name, number, seeds, task_name

VAL, TEST = METRICS["language"]
EXACT = ("val_perplexity_exact", "test_perplexity_exact", "val_bits_per_byte", "test_bits_per_byte")
BITS = "test_bits_per_byte"


def language_rows(settings: Settings, judgements: Sequence[Judgement]) -> list[Row]:
    """The rows of Table 6, with the exact perplexities and the bits per byte of the whole texts."""
    return table_rows("T6", "language", settings, judgements, more_metrics=EXACT)


def language_latex(rows: Sequence[Row]) -> str:
    """Task and method; published; ours with interval; test over Default's, paired; bits per byte; n; outcomes."""
    lines = [
        r"\begin{tabular}{@{}llrr@{\hskip 9pt}lllrrcccc@{}}",
        r"\toprule",
        r" & & \multicolumn{2}{c}{published} & \multicolumn{2}{c}{ours, mean and interval} & test / Default,"
        r" & bits & & \multicolumn{2}{c}{value} & \multicolumn{2}{c}{direction} \\",
        r"\cmidrule(lr){3-4}\cmidrule(lr){5-6}\cmidrule(lr){10-11}\cmidrule(l){12-13}",
        r"task & method & val. & test & validation & test & paired by seed & a byte & seeds"
        r" & val. & test & val. & test \\",
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
        *(value_mark(row.judged.get(metric)) for metric in (VAL, TEST)),
        *(direction_mark(row.judged.get(metric)) for metric in (VAL, TEST)),
    ]
    return " & ".join(columns) + r" \\"


def language_frame(rows: Sequence[Row]) -> Any:
    """The same as a tidy pandas DataFrame: one row per cell, scale and metric, numbers in full precision."""
    import pandas as pd

    found = []
    for row in rows:
        for metric in (VAL, TEST, *EXACT):
            found.append(
                {
                    "task": row.task, "method": row.method, "metric": metric,
                    **cell_columns(row, metric), "median": row.measured[metric].median,
                    **outcome_columns(row, metric),
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
