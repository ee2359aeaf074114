"""Theorem 1's derivatives under Corollary 1's bounds in real trainings, as a figure."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from maskprior.analysis.records import Entry, cells
from maskprior.analysis.theory import curve
from maskprior.report.figures import BLUE, GREEN, ORANGE, WIDTH
from maskprior.report.output import method_name, task_name
from maskprior.report.theory_table import LABELS

COLOURS = {"query": ORANGE, "key": GREEN, "mask": BLUE}


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
    handles = [Line2D([], [], color=COLOURS[part], label=label) for part, label in LABELS.items()]
    handles.append(Line2D([], [], color="0.3", linestyle="solid", label="derivative (Theorem 1)"))
    handles.append(Line2D([], [], color="0.3", linestyle="dotted", label="bound (Corollary 1)"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), handlelength=2.2)
    sns.despine(figure)
    return figure
