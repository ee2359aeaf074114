"""Figures of arithmetic: where the errors are, and how accuracy grows with the share of pairs trained on (Figure 4)."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maskprior import tasks
from maskprior.analysis.aggregate import Summary, summarise
from maskprior.analysis.axes import PERCENT
from maskprior.analysis.measured import summary
from maskprior.analysis.published import METRICS
from maskprior.analysis.records import Entry, cells
from maskprior.report.arithmetic_table import train_fraction
from maskprior.report.figures import COLOURS, DASHES, WIDTH
from maskprior.report.output import method_name, task_name

TASKS = ("addition", "multiplication")
SEQUENCE, DIGIT = METRICS["arithmetic"][:2]
# The arrays that say where a network errs: title, x label, and the names of their entries.
ERRORS: dict[tuple[str, str], tuple[str, str]] = {
    ("addition", "sequence_accuracy_by_carries"): ("sequence accuracy", "carries in the sum"),
    ("addition", "digit_accuracy"): ("digit accuracy", "output digit"),
    ("multiplication", "digit_accuracy"): ("digit accuracy", "output digit"),
}


def places(task: str, array: str) -> list[str]:
    """What the entries of an error array stand for: numbers of carries, or powers of ten, most significant first."""
    if array == "sequence_accuracy_by_carries":
        return ["0", "1", "2", "3"]
    return [f"$10^{k}$" for k in range(tasks.find("arithmetic", task).digits - 1, -1, -1)]


def by_place(entries: Sequence[Entry], array: str) -> list[Summary]:
    """One summary per entry of the array over the cell's completed runs; NaN entries (no such pairs) do not count."""
    done = [entry.arrays[array] for entry in entries if entry.status == "completed" and array in entry.arrays]
    diverged = sum(entry.status == "diverged" for entry in entries)
    columns = np.stack(done).T if done else np.empty((0, 0))
    return [
        summarise([float(v) for v in column if np.isfinite(v)], planned=len(entries), diverged=diverged, axis=PERCENT)
        for column in columns
    ]


def errors(entries: Sequence[Entry], methods: Sequence[str]) -> Figure:
    """Accuracy by number of carries (addition) and by output digit (both tasks): one line a method, bars: intervals."""
    figure, axes = plt.subplots(
        1, len(ERRORS), figsize=(WIDTH, 2.35), layout="constrained", sharey=True, squeeze=False,
        width_ratios=[len(places(*key)) for key in ERRORS],
    )  # fmt: skip
    by_cell = cells(entries)
    for ax, ((task, array), (quantity, label)) in zip(axes[0], ERRORS.items(), strict=True):
        for method in methods:
            found = by_place(by_cell.get((task, method), []), array)
            _points(ax, range(len(found)), found, method)
        _say_if_empty(ax)
        names = places(task, array)
        ax.set_xticks(range(len(names)), names)
        ax.set_xlim(-0.4, len(names) - 0.6)
        ax.set_xlabel(label)
        ax.set_title(f"{task_name(task)}: {quantity}")
    axes[0, 0].set_ylabel(f"percent (scale: {entries[0].run.scale})")
    return _finished(figure, axes, methods)


def errors_frame(entries: Sequence[Entry]) -> Any:
    """One row per cell, array and place, in full precision."""
    import pandas as pd

    return pd.DataFrame(
        {
            "task": task, "method": method, "scale": members[0].run.scale, "array": array,
            "place": place.strip("$"), "mean": s.mean, "low": s.low, "high": s.high, "n": s.n, "planned": s.planned,
        }
        for (task, method), members in cells(entries).items()
        for of, array in ERRORS
        if of == task
        for place, s in zip(places(task, array), by_place(members, array), strict=False)
    )  # fmt: skip


def sweep(entries: Sequence[Entry], task: str, scale: str) -> dict[str, dict[float, list[Entry]]]:
    """method -> train fraction -> its entries, fractions in rising order: a task's cells whatever their variants."""
    found: dict[str, dict[float, list[Entry]]] = {}
    for (of, cell), members in cells([entry for entry in entries if entry.run.scale == scale]).items():
        if of == task:
            found.setdefault(members[0].run.method, {})[train_fraction(task, cell, scale)] = members
    return {method: dict(sorted(points.items())) for method, points in found.items()}


def fractions(entries: Sequence[Entry], methods: Sequence[str] = ("default", "mask")) -> Figure:
    """Sequence (above) and digit accuracy (below) on held-out pairs by the share trained on: a column a task.

    Dots are the first scale of the entries, diamonds the paper's beside it.
    """
    figure, axes = plt.subplots(
        2, len(TASKS), figsize=(WIDTH, 3.4), layout="constrained", sharex="col", sharey="row", squeeze=False
    )
    for column, task in enumerate(TASKS):
        scales = list(dict.fromkeys(entry.run.scale for entry in entries if entry.run.task == task))
        for ax, metric in zip(axes[:, column], (SEQUENCE, DIGIT), strict=True):
            ticks: set[float] = set()
            for scale, marker in zip(scales, "oD", strict=False):
                for method, cell in sweep(entries, task, scale).items():
                    ticks.update(100 * fraction for fraction in cell)
                    if method in methods:
                        found = [summary(members, metric) for members in cell.values()]
                        _points(ax, [100 * fraction for fraction in cell], found, method, marker)
            ax.set_xscale("log")
            if ticks:
                ax.set_xticks(sorted(ticks), [f"{tick:g}" for tick in sorted(ticks)])
                ax.set_xlim(min(ticks) / 1.3, max(ticks) * 1.3)
            ax.minorticks_off()
            _say_if_empty(ax)
        diamonds = f"; diamonds: {scales[1]}" if len(scales) > 1 else ""
        axes[0, column].set_title(f"{task_name(task)} (scale: {scales[0] if scales else 'none'}{diamonds})")
        axes[1, column].set_xlabel("pairs trained on (%)")
    axes[0, 0].set_ylabel("sequence accuracy (%)")
    axes[1, 0].set_ylabel("digit accuracy (%)")
    return _finished(figure, axes, methods)


def fractions_frame(entries: Sequence[Entry]) -> Any:
    """One row per task, scale, method, fraction and metric, in full precision."""
    import pandas as pd

    found = []
    for task, scale in dict.fromkeys((entry.run.task, entry.run.scale) for entry in entries):
        for method, points in sweep(entries, task, scale).items():
            for fraction, members in points.items():
                for metric in METRICS["arithmetic"]:
                    s = summary(members, metric)
                    found.append(
                        {
                            "task": task, "method": method, "train_fraction": fraction, "scale": scale,
                            "metric": metric, "mean": s.mean, "low": s.low, "high": s.high, "n": s.n,
                            "planned": s.planned, "diverged": s.diverged,
                        }
                    )  # fmt: skip
    return pd.DataFrame(found)


def _points(ax: Axes, x: Any, found: Sequence[Summary], method: str, marker: str = "o") -> None:
    """Means joined by a line, with bars for the intervals; nothing where no run is there. Diamonds are hollow."""
    there = [(at, s) for at, s in zip(x, found, strict=True) if s.n]
    if not there:
        return
    style = {"color": COLOURS.get(method, "0.5"), "linestyle": DASHES.get(method, "solid")}
    shape = {"markersize": 4, "markerfacecolor": "white"} if marker == "D" else {"markersize": 3}
    means = [s.mean for _, s in there]
    ax.plot([at for at, _ in there], means, marker=marker, label=method_name(method), **shape, **style)
    for at, s in there:
        if s.has_interval:
            ax.plot([at, at], [s.low, s.high], color=style["color"], linewidth=0.9, solid_capstyle="butt", zorder=1.9)


def _say_if_empty(ax: Axes) -> None:
    ax.set_ylim(-4, 104)
    ax.grid(axis="y", color="0.92", linewidth=0.5)
    if not ax.lines:
        ax.text(0.5, 0.5, "not run", ha="center", va="center", transform=ax.transAxes, color="0.5")


def _finished(figure: Figure, axes: Any, methods: Sequence[str]) -> Figure:
    handles: dict[str, Any] = {}
    for ax in axes.flat:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    names = [method_name(method) for method in methods if method_name(method) in handles]
    if names:
        lines = [handles[name] for name in names]
        figure.legend(
            lines, names, loc="outside lower center", ncols=3 if len(names) > 4 else len(names), handlelength=2.6
        )
    sns.despine(figure)
    return figure
