"""Theorem 1's derivatives and Corollary 1's bounds, as a table."""

import math
from collections.abc import Sequence
from typing import Any

from maskprior.analysis.theory import Sensitivity
from maskprior.report.output import NOTHING, method_name, task_name

LABELS = {"query": "query $q$", "key": "keys $k$", "mask": "mask $m$"}


def theory_frame(found: Sequence[Sensitivity]) -> Any:
    """One row per cell and part, in full precision; `end_share` is the end's derivative over its bound."""
    import pandas as pd

    frame = pd.DataFrame([vars(row) for row in found])
    return frame.assign(end_share=frame["end"] / frame["end_bound"]) if len(frame) else frame


def theory_latex(found: Sequence[Sensitivity]) -> str:
    """Task, method, part; derivative and bound at start and end; the logits' change in one update."""
    lines = [
        r"\begin{tabular}{@{}lllrrrrr@{}}",
        r"\toprule",
        r" & & & \multicolumn{2}{c}{start} & \multicolumn{2}{c}{end} & logit step \\",
        r"\cmidrule(lr){4-5}\cmidrule(lr){6-7}",
        r"task & method & part & derivative & bound & derivative & bound & (nats) \\",
    ]
    previous: tuple[str, str] = ("", "")
    for row in found:
        if row.task != previous[0]:
            lines.append(r"\midrule")
        names = [
            task_name(row.task) if row.task != previous[0] else "",
            method_name(row.method) if (row.task, row.method) != previous else "",
            LABELS[row.part],
        ]
        numbers = (row.start, row.start_bound, row.end, row.end_bound, row.logit_step)
        lines.append(" & ".join([*names, *(scientific(value) for value in numbers)]) + r" \\")
        previous = (row.task, row.method)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def scientific(value: float) -> str:
    r"""Two significant digits: `0.067`, `$2.9\cdot10^{-5}$`; `--` for none."""
    if not math.isfinite(value):
        return NOTHING
    if value == 0 or 0.01 <= abs(value) < 100:
        return f"{value:.2g}"
    digits, exponent = f"{value:.1e}".split("e")
    return rf"${digits}\cdot10^{{{int(exponent)}}}$"
