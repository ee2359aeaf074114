"""Interventions: what one change of the configuration does to the prior at its three levels, as a table and a figure.

A cell is named by its method and variant, `mask+sgd`. config/interventions.yaml groups them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maskprior.analysis.claims import summary
from maskprior.analysis.explanations import FILE, LEFT, Group, judge
from maskprior.analysis.figures import COLOURS, WIDTH
from maskprior.analysis.output import escape, interval, method_name, number, seeds, task_name
from maskprior.analysis.records import Entry
from maskprior.config.base import OptimizerConfig
from maskprior.errors import UserError
from maskprior.runs.spec import Run, make_run, resolve

# The table's columns per level: at the start (function: at its best) and at the end.
LEVELS = ("gap_initial", "gap_final", "strength_initial", "strength_final", "function_best", "function_final")
# The figure's panels: what there was, and what is left.
PANELS: dict[str, tuple[str | None, str]] = {
    "parameter: gap, of its start": (None, "gap_retention"),
    "attention map: strength": ("strength_initial", "strength_final"),
    "function: F": ("function_best", "function_final"),
}
ACCURACY = {"boolean": "test_accuracy", "arithmetic": "sequence_accuracy"}
# The configuration's keys in words; others speak for themselves.
KEYS = {
    "optimizer.name": "optimiser",
    "optimizer.lr": "rate",
    "optimizer.mask_weight_decay": "decay of M",
    "optimizer.mask_lr_multiplier": "rate of M, factor",
    "optimizer.query_key_lr_multiplier": "rate of QK, factor",
    "model.position_std": "position std",
    "model.embedding_std": "embedding std",
    "model.readout": "readout",
    "mask.amplitude": "amplitude",
    "mask.form": "form",
}

Cells = Mapping[str, Sequence[Entry]]


def by_task(entries: Sequence[Entry]) -> dict[tuple[str, str], dict[str, list[Entry]]]:
    """(experiment, task) -> cell -> its entries, in the order of the plan."""
    found: dict[tuple[str, str], dict[str, list[Entry]]] = {}
    for entry in entries:
        run = entry.run
        found.setdefault((run.experiment, run.task), {}).setdefault(run.method_variant, []).append(entry)
    return found


def grouped(groups: Sequence[Group], cells: Cells) -> dict[str, list[str]]:
    """Group -> its cells among those given. UserError for a cell that is in no group."""
    known = {cell for group in groups for cell in group.cells}
    for cell in cells:
        if cell not in known:
            raise UserError(f"config/{FILE}: cells: {cell}: in no group, but the target interventions has it")
    found = {group.group: [cell for cell in group.cells if cell in cells] for group in groups}
    return {group: members for group, members in found.items() if members}


def changes(experiment: str, task: str, cell: str, scale: str) -> str:
    """What a variant changes in the configuration, in words: `rate of M, factor 1 → 10`; empty for a plain method."""
    method, _, variant = cell.partition("+")
    if not variant:
        return ""
    old, new = (
        dict(_flat(resolve(make_run(experiment, task, name, scale=scale)).model_dump())) for name in (method, cell)
    )
    texts = [f"{KEYS.get(key, _words(key))} {old[key]} → {new[key]}" for key in old if old[key] != new[key]]
    return ", ".join(texts)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", f"{value:g}" if isinstance(value, float) else str(value)


def _words(key: str) -> str:
    return key.rpartition(".")[2].replace("_", " ")


def reach(optimizer: OptimizerConfig) -> float:
    """The sum of M's learning rates over training: how far Adam can move an entry, nats.

    Adam's step is about the rate, whatever the gradient. NaN for gradient descent, whose steps know no such bound.
    """
    if optimizer.name == "sgd":
        return math.nan
    warmup, rest = optimizer.warmup_steps, max(0, optimizer.steps - optimizer.warmup_steps)
    falling = rest if optimizer.schedule == "constant" else (rest + 1) / 2  # the sum of (1 + cos(pi t / rest)) / 2
    rising = (warmup + 1) / 2 if warmup else 0.0
    return optimizer.lr * optimizer.mask_lr_multiplier * (rising + falling)


def _reach(run: Run) -> str:
    config: Any = resolve(run)
    return number(reach(config.optimizer), "nats", digits=1) if run.method in ("mask", "mask_zero") else ""


def interventions_latex(groups: Sequence[Group], cells: Cells) -> str:
    """A row per cell of one task: what it changes; per level the start (function: the best moment) and the end."""
    lines = [
        r"\begin{tabular}{@{}llrrrrrrrlr@{}}",
        r"\toprule",
        r" & & \multicolumn{3}{c}{parameter} & \multicolumn{2}{c}{attention map} & \multicolumn{2}{c}{function} & & \\",
        r" & & \multicolumn{2}{c}{gap, nats} & reach & \multicolumn{2}{c}{strength} & \multicolumn{2}{c}{$F$} & & \\",
        r"\cmidrule(lr){3-5}\cmidrule(lr){6-7}\cmidrule(lr){8-9}",
        r"method & change & start & end & of M & start & end & best & end & accuracy & seeds \\",
    ]
    for group, members in grouped(groups, cells).items():
        lines += [r"\midrule", rf"\multicolumn{{11}}{{@{{}}l}}{{\emph{{{escape(group)}}}}} \\"]
        lines += [_line(cell, cells[cell]) for cell in members]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _line(cell: str, entries: Sequence[Entry]) -> str:
    run = entries[0].run
    accuracy = summary(entries, ACCURACY[run.experiment])
    values = [number(summary(entries, metric).mean, metric, digits=2) for metric in LEVELS]
    columns = [
        method_name(run.method),
        escape(changes(run.experiment, run.task, cell, run.scale)).replace("→", r"$\to$"),
        *values[:2],
        _reach(run),
        *values[2:],
        interval(accuracy, "accuracy"),
        seeds(accuracy),
    ]
    return " & ".join(columns) + r" \\"


def interventions_frame(cells: Cells) -> Any:
    """One row per cell and metric of the table, in full precision."""
    import pandas as pd

    rows = []
    for cell, entries in cells.items():
        run = entries[0].run
        for metric in dict.fromkeys((*LEVELS, *LEFT.values(), ACCURACY[run.experiment])):
            s = summary(entries, metric)
            rows.append(
                {
                    "experiment": run.experiment, "task": run.task, "cell": cell, "metric": metric, "mean": s.mean,
                    "low": s.low, "high": s.high, "n": s.n, "planned": s.planned, "diverged": s.diverged,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def picture(groups: Sequence[Group], tasks: Mapping[str, Cells]) -> Figure:
    """Dots: what is left of the prior at each level when training ends, with its interval; rings: what there was.

    A ring is the start for the map and the best moment for the function; for the parameter the start is 1 throughout.
    A row a cell, and for every task (its name -> its cells) a column a level.
    """
    every = {cell: entries for cells in tasks.values() for cell, entries in cells.items()}
    blocks = grouped(groups, every)
    size = (WIDTH, 0.135 * (len(every) + len(blocks)) + 0.5)
    columns = [(task, panel) for task in tasks for panel in PANELS]
    figure, axes = plt.subplots(1, len(columns), figsize=size, layout="constrained", sharey=True)
    labels = [label for block, members in blocks.items() for label in (block, *members)]
    for y, label in enumerate(labels):
        for ax, (task, panel) in zip(axes, columns, strict=True):
            if label in tasks[task]:
                _dots(ax, y, tasks[task][label], PANELS[panel], COLOURS.get(label.partition("+")[0], "0.3"))
    for ax, (task, panel) in zip(axes, columns, strict=True):
        ax.set_title(f"{task}\n{panel}" if len(tasks) > 1 else panel)
        ax.set_xlim(-0.15, 1.12)
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


def floats(command: str, tables: Mapping[str, str]) -> str:
    r"""`\\<command>{name of the task}{task}{table}` for each task: the paper makes one float of each."""
    return "\n\n".join(
        f"\\{command}{{{escape(task_name(task))}}}{{{task}}}{{%\n{table}}}" for task, table in tables.items()
    )


def interventions_macros(groups: Sequence[Group], entries: Sequence[Entry]) -> dict[str, str]:
    r"""What the text says of the interventions, key -> value for \setresult.

    left/<experiment>/<task>/<cell>/<level>/{value,mean}; explanation/<experiment>/<task>/<id>, its verdict.
    """
    found: dict[str, str] = {}
    for (experiment, task), cells in by_task(entries).items():
        for cell, members in cells.items():
            for level, metric in LEFT.items():
                s = summary(members, metric)
                key = f"left/{experiment}/{task}/{cell}/{level}"
                found[f"{key}/value"] = interval(s, metric, digits=2)
                found[f"{key}/mean"] = number(s.mean, metric, digits=2)
        for judged in judge(groups, cells):
            found[f"explanation/{experiment}/{task}/{judged.explanation.id}"] = judged.verdict
    return found
