"""Interventions: what is left of the prior at its three levels, as a figure."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maskprior.analysis.explanations import Group
from maskprior.analysis.interventions import Cells, grouped
from maskprior.analysis.measured import summary
from maskprior.analysis.records import Entry
from maskprior.report.figures import COLOURS, WIDTH
from maskprior.report.output import method_name

# The figure's panels, a level each: its quantity, what there was of it, and what is left.
PANELS: dict[str, tuple[str, str | None, str]] = {
    "parameter": ("share of gap", None, "gap_retention"),
    "map": ("strength", "strength_initial", "strength_final"),
    "function": ("F", "function_best", "function_final"),
}


def picture(groups: Sequence[Group], tasks: Mapping[str, Cells]) -> Figure:
    """Dots: what is left of the prior at each level when training ends, with its interval; rings: what there was.

    A ring is the start for the map and the best moment for the function; for the parameter the start is 1 throughout.
    A row a cell, and for every task (its name -> its cells) a column a level.
    """
    every = {cell: entries for by_cell in tasks.values() for cell, entries in by_cell.items()}
    blocks = grouped(groups, every)
    size = (WIDTH, 0.135 * (len(every) + len(blocks)) + 0.5)
    columns = [(task, panel) for task in tasks for panel in PANELS]
    figure, axes = plt.subplots(1, len(columns), figsize=size, layout="constrained", sharey=True)
    labels = [label for block, members in blocks.items() for label in (block, *members)]
    for y, label in enumerate(labels):
        for ax, (task, panel) in zip(axes, columns, strict=True):
            if label in tasks[task]:
                _dots(ax, y, tasks[task][label], PANELS[panel][1:], COLOURS.get(label.partition("+")[0], "0.3"))
    for ax, (task, panel) in zip(axes, columns, strict=True):
        ax.set_title(f"{task}\n{panel}" if len(tasks) > 1 else panel)
        ax.set_xlabel(PANELS[panel][0])
        means = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
        ax.set_xlim(-0.15, max([1, *means]) + 0.12)
        ax.grid(color="0.93", linewidth=0.5)
        ax.axvline(0.5, color="0.75", linewidth=0.6, linestyle=":", zorder=0)
        ax.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(labels)), [method_name(label) for label in labels], fontsize=6.5)
    for tick, label in zip(axes[0].get_yticklabels(), labels, strict=True):
        tick.set_fontweight("bold" if label in blocks else "normal")
    axes[0].set_ylim(len(labels) - 0.4, -0.6)
    sns.despine(figure)
    return figure


def _dots(ax: Axes, y: int, entries: Sequence[Entry], metrics: tuple[str | None, str], colour: Any) -> None:
    there, left = (None if metric is None else summary(entries, metric) for metric in metrics)
    assert left is not None
    if left.has_interval:
        ax.plot([left.low, left.high], [y, y], color=colour, linewidth=1)
    ax.plot(left.mean, y, "o", color=colour, markersize=3)
    if there is not None:
        ax.plot(there.mean, y, "o", markerfacecolor="none", markeredgecolor=colour, markersize=5, alpha=0.7)
