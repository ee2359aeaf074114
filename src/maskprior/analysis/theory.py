"""Theorem 1's derivatives and Corollary 1's bounds in real trainings, beside what an update really moved.

Letters: S times of a look, U measured updates, L layers, H heads. Only means over layers, heads and seeds are shown.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from maskprior.analysis.figures import BLUE, GREEN, ORANGE, WIDTH
from maskprior.analysis.output import NOTHING, method_name, task_name
from maskprior.analysis.persistence import over_heads
from maskprior.analysis.records import Entry, cells

PARTS = {"query": "query $q$", "key": "keys $k$", "mask": "mask $m$"}
COLOURS = {"query": ORANGE, "key": GREEN, "mask": BLUE}

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Sensitivity:
    """How far one attention weight moves with one part, in one cell: means over completed seeds, layers and heads.

    Attributes:
        part: `query`, `key` or `mask`.
        start, end: mean norm of the derivative before and after training.
        start_bound, end_bound: mean of Corollary 1's bound at the same time.
        logit_step: median over the measured updates of the RMS change of the logits that this part's step alone
            makes, nats; queries and keys move together and share one value.
        n, planned: completed and planned seeds.
    """

    task: str
    method: str
    part: str
    start: float
    end: float
    start_bound: float
    end_bound: float
    logit_step: float
    n: int
    planned: int


def curve(entries: Sequence[Entry], name: str) -> tuple[Array, Array]:
    """Steps (S) and the mean of `persistence/<name>` (S) over completed entries; empty where there is none."""
    done = [entry.arrays for entry in entries if entry.status == "completed"]
    if not done:
        return np.array([]), np.array([])
    values = np.stack([over_heads(arrays[f"persistence/{name}"]) for arrays in done])
    return np.asarray(done[0]["persistence/step"], dtype=np.float64), values.mean(0)


def sensitivities(entries: Sequence[Entry]) -> list[Sensitivity]:
    """One row per part of a cell's entries; the mask's only where the method has one."""
    run, found = entries[0].run, []
    done = [entry for entry in entries if entry.status == "completed"]
    for part in PARTS:
        _, actual = curve(entries, f"{part}_sensitivity")
        _, bound = curve(entries, f"{part}_bound")
        if not np.isfinite(actual).any():
            continue
        name = f"persistence/{'mask' if part == 'mask' else 'query_key'}_logit_step"
        steps = [float(np.median(over_heads(entry.arrays[name]))) for entry in done]
        found.append(
            Sensitivity(
                run.task, run.method_variant, part, float(actual[0]), float(actual[-1]), float(bound[0]),
                float(bound[-1]), float(np.mean(steps)), len(done), len(entries),
            )
        )  # fmt: skip
    return found


def bounds_in_training(entries: Sequence[Entry], tasks: Sequence[str], methods: Sequence[str]) -> Figure:
    """The derivatives' size (solid) under their bounds (dotted) over training: a row per task, a column per method."""
    size = (WIDTH, 1.5 * len(tasks) + 0.6)
    figure, axes = plt.subplots(
        len(tasks), len(methods), figsize=size, layout="constrained", sharex=True, sharey=True, squeeze=False
    )
    by_cell = cells(entries)
    for row, task in enumerate(tasks):
        axes[row, 0].set_ylabel(f"{task_name(task)}\nsize of $\\partial p_i$")
        for column, method in enumerate(methods):
            ax = axes[row, column]
            if row == 0:
                ax.set_title(method_name(method))
            for part, colour in COLOURS.items():
                for kind, style in (("sensitivity", "solid"), ("bound", "dotted")):
                    steps, values = curve(by_cell.get((task, method), []), f"{part}_{kind}")
                    if np.isfinite(values).any():
                        # Step 0 stands at 1/2 of the logarithmic axis.
                        ax.plot(np.maximum(steps, 0.5), values, color=colour, linestyle=style)
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.minorticks_off()
    for ax in axes[-1]:
        ax.set_xlabel("step")
    handles = [Line2D([], [], color=COLOURS[part], label=label) for part, label in PARTS.items()]
    handles.append(Line2D([], [], color="0.3", linestyle="solid", label="derivative (Theorem 1)"))
    handles.append(Line2D([], [], color="0.3", linestyle="dotted", label="bound (Corollary 1)"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), handlelength=2.2)
    sns.despine(figure)
    return figure


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
            PARTS[row.part],
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
