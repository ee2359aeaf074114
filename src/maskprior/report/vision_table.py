"""Tables 3 and 5: top-1 accuracy as the paper prints it and as we measured it, as LaTeX (booktabs) and csv."""

from collections.abc import Sequence
from typing import Any

from maskprior.analysis.claims import Judgement
from maskprior.analysis.rows import Row, source_text, table_rows
from maskprior.config.settings import Settings
from maskprior.report.outcomes import cell_columns, direction_mark, outcome_columns, value_mark
from maskprior.report.output import NOTHING, difference_text, interval, method_name, seeds, task_name
from maskprior.report.output import note as rows_note
from maskprior.runs.spec import make_run, resolve

__all__ = ["note", "subset", "vision_frame", "vision_latex", "vision_rows"]

BEST, LAST = "best_top1", "last_top1"


def vision_rows(table: str, settings: Settings, judgements: Sequence[Judgement]) -> list[Row]:
    """The rows of Table 3 (`T3`) or 5 (`T5`), with the accuracy after the last epoch beside the best."""
    return table_rows(table, "vision", settings, judgements, more_metrics=(LAST,))


def vision_latex(rows: Sequence[Row]) -> str:
    """A booktabs table: task and method; published; best and last top-1; the best minus Default's; seeds; outcomes.

    A task on other data than the paper's has their name and size under its own.
    """
    lines = [
        r"\begin{tabular}{@{}llrlllrcc@{}}",
        r"\toprule",
        r" & & published & \multicolumn{3}{c}{ours, mean and interval} & & & \\",
        r"\cmidrule(lr){4-6}",
        r"task & method & best & best & last & best $-$ Default's & seeds & value & direction \\",
    ]
    for task in dict.fromkeys(row.task for row in rows):
        lines.append(r"\midrule")
        own = [row for row in rows if row.task == task]
        labels = [task_name(task)]
        if small := next((text for row in own if (text := subset(row))), None):
            labels.append(rf"{{\scriptsize\color{{quiet}}{small}}}")
        labels += [""] * len(own)
        lines += [_latex_row(row, label) for row, label in zip(own, labels, strict=False)]
    if not rows:
        lines += [r"\midrule", r"\multicolumn{9}{c}{not run at this scale} \\"]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines)


def note(rows: Sequence[Row], settings: Settings) -> str:
    """From where the records come, and what can be compared where the images are not the paper's."""
    text = rows_note(rows, settings)
    if all(subset(row) is None for row in rows):
        return text
    order = " On other images than the paper's the order of the methods is compared, and no number."
    return text.removesuffix("}") + order + "}"


def subset(row: Row) -> str | None:
    """`cifar10-10pct, 32 px` where a row's images are not the paper's: another experiment, which has to be said."""
    data, paper = (_data(row.task, scale) for scale in (row.scale, "paper"))
    return None if data == paper else "{}, {} px".format(*data)


def _data(task: str, scale: str) -> tuple[str, int]:
    config: Any = resolve(make_run("vision", task, "default", scale=scale))
    return config.dataset, config.model.image_size


def _latex_row(row: Row, first: str) -> str:
    method = method_name(row.method)
    if row.scale == "paper":
        method = rf"{method} \atpaper"
    columns = [
        first,
        method,
        row.published.get(BEST, NOTHING),
        interval(row.measured[BEST], BEST),
        interval(row.measured[LAST], LAST),
        difference_text(row.differences[BEST], BEST) if BEST in row.differences else "",
        seeds(row.measured[BEST]),
        value_mark(row.judged.get(BEST)),
        direction_mark(row.judged.get(BEST)),
    ]
    return " & ".join(columns) + r" \\"


def vision_frame(rows: Sequence[Row]) -> Any:
    """The same as a tidy pandas DataFrame: one row per cell, scale and metric, numbers in full precision."""
    import pandas as pd

    found = []
    for row in rows:
        dataset, side = _data(row.task, row.scale)
        for metric in (BEST, LAST):
            found.append(
                {
                    "task": row.task, "dataset": dataset, "image_size": side, "method": row.method,
                    "metric": metric,
                    **cell_columns(row, metric), **outcome_columns(row, metric), "sources": source_text(row.sources),
                }
            )  # fmt: skip
    return pd.DataFrame(found)
