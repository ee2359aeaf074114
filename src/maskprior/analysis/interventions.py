"""Interventions: what one change does to the prior at its three levels, as a table and a figure."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

from maskprior.analysis.claims import summary
from maskprior.analysis.figures import COLOURS, WIDTH
from maskprior.analysis.output import interval, method_name, seeds
from maskprior.analysis.persistence_table import LEVELS, Persisted, half_life_text, persisted
from maskprior.analysis.records import Entry, cells

TITLES = {"parameter": "parameter, c(T)", "map": "attention map, c(T)", "function": "function, F(T)"}

Levels = Mapping[str, Persisted]


def persisted_levels(entries: Sequence[Entry]) -> dict[str, dict[str, Persisted]]:
    """method[+variant] -> level -> what became of the prior; the unchanged methods first, then by method."""
    found = {
        method: {level: persisted(members, level) for level in LEVELS}
        for (_, method), members in cells(entries).items()
    }
    bases = list(dict.fromkeys(method.partition("+")[0] for method in found))
    return dict(sorted(found.items(), key=lambda item: (bases.index(item[0].partition("+")[0]), "+" in item[0])))


def latex(entries: Sequence[Entry]) -> str:
    """A row per cell: the levels at the end with intervals, the function's best and half-life, accuracy, seeds."""
    by_method = {method: members for (_, method), members in cells(entries).items()}
    lines = [
        r"\begin{tabular}{@{}lllllrlr@{}}",
        r"\toprule",
        r" & parameter & attention map & \multicolumn{3}{c}{function} & & \\",
        r"\cmidrule(lr){4-6}",
        r" & end & end & best & end & half-life & accuracy & seeds \\",
    ]
    base = None
    for method, levels in persisted_levels(entries).items():
        if method.partition("+")[0] != base:
            base = method.partition("+")[0]
            lines.append(r"\midrule")
        accuracy = summary(by_method[method], "test_accuracy")
        function = levels["function"]
        columns = [
            method_name(method),
            *(interval(levels[level].final, level) for level in ("parameter", "map")),
            interval(function.initial, "function"),
            interval(function.final, "function"),
            half_life_text(function),
            interval(accuracy, "test_accuracy"),
            seeds(accuracy),
        ]
        lines.append(" & ".join(columns) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def frame(entries: Sequence[Entry]) -> Any:
    """One row per cell and level, in full precision."""
    import pandas as pd

    return pd.DataFrame(
        {
            "method": method, "level": level, "start": p.initial.mean, "end": p.final.mean, "end_low": p.final.low,
            "end_high": p.final.high, "n": p.final.n, "planned": p.planned,
        }
        for method, levels in persisted_levels(entries).items()
        for level, p in levels.items()
    )  # fmt: skip


def picture(entries: Sequence[Entry]) -> Figure:
    """Dots: each level at the end of training, with its interval; rings: at the start (function: at its best)."""
    found = persisted_levels(entries)
    height = 0.155 * len(found) + 0.6
    figure, axes = plt.subplots(1, len(LEVELS), figsize=(WIDTH, height), layout="constrained", sharey=True)
    for ax, level in zip(axes, LEVELS, strict=True):
        for y, (method, levels) in enumerate(found.items()):
            p, colour = levels[level], COLOURS.get(method.partition("+")[0], "0.3")
            if p.final.has_interval:
                ax.plot([p.final.low, p.final.high], [y, y], color=colour, linewidth=1)
            ax.plot(p.final.mean, y, "o", color=colour, markersize=3.2)
            ax.plot(p.initial.mean, y, "o", markerfacecolor="none", markeredgecolor=colour, markersize=5.2, alpha=0.7)
            if "+" not in method:
                ax.axhspan(y - 0.5, y + 0.5, color="0.94", zorder=0)
        ax.set_title(TITLES[level])
        ax.set_xlim(-0.15, 1.1)
        ax.grid(axis="x", color="0.9", linewidth=0.5)
    axes[0].set_yticks(range(len(found)), [method_name(method) for method in found])
    axes[0].set_ylim(len(found) - 0.4, -0.6)
    sns.despine(figure)
    return figure
