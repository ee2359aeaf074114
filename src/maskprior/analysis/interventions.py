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
from maskprior.analysis.explanations import FILE, LEFT, Group, Judged
from maskprior.analysis.figures import COLOURS, WIDTH
from maskprior.analysis.output import METRICS, escape, interval, method_name, number, seeds, task_name
from maskprior.analysis.records import Entry, cells, load_target
from maskprior.config.base import OptimizerConfig
from maskprior.config.settings import Settings
from maskprior.errors import UserError
from maskprior.runs.spec import Run, make_run, resolve, targets

# The table's columns per level: at the start (function: at its best) and at the end.
LEVELS = ("gap_initial", "gap_final", "strength_initial", "strength_final", "function_best", "function_final")
# The figure's panels, a level each: its quantity, what there was of it, and what is left.
PANELS: dict[str, tuple[str, str | None, str]] = {
    "parameter": ("share of gap", None, "gap_retention"),
    "map": ("strength", "strength_initial", "strength_final"),
    "function": ("F", "function_best", "function_final"),
}
TARGET = "interventions"
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


def load_tasks(settings: Settings) -> dict[str, Cells]:
    """Task -> cell -> its entries: the runs of the target `interventions`, in the order of the plan.

    A task that has none at the chosen scale stands there with those at the paper's.
    """
    if TARGET not in targets():
        return {}
    found: dict[str, dict[str, list[Entry]]] = {}
    for at in dict.fromkeys([settings, settings.model_copy(update={"scale": "paper"})]):
        here = cells([entry for entry in load_target(TARGET, at) if entry.run.task not in found])
        for (task, cell), entries in here.items():
            found.setdefault(task, {})[cell] = entries
    return dict(found)


def grouped(groups: Sequence[Group], by_cell: Cells) -> dict[str, list[str]]:
    """Group -> its cells among those given. UserError for a cell that is in no group."""
    known = {cell for group in groups for cell in group.cells}
    for cell in by_cell:
        if cell not in known:
            raise UserError(f"config/{FILE}: cells: {cell}: in no group, but the target interventions has it")
    found = {group.group: [cell for cell in group.cells if cell in by_cell] for group in groups}
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


def interventions_latex(groups: Sequence[Group], by_cell: Cells) -> str:
    """A row per cell of one task: what it changes; per level the start (function: the best moment) and the end."""
    lines = [
        r"\begin{tabular}{@{}llrrrrrrrlr@{}}",
        r"\toprule",
        r" & & \multicolumn{3}{c}{parameter} & \multicolumn{2}{c}{attention map} & \multicolumn{2}{c}{function} & & \\",
        r" & & \multicolumn{2}{c}{gap, nats} & reach & \multicolumn{2}{c}{strength} & \multicolumn{2}{c}{$F$} & & \\",
        r"\cmidrule(lr){3-5}\cmidrule(lr){6-7}\cmidrule(lr){8-9}",
        r"method & change & start & end & of M & start & end & best & end & accuracy & seeds \\",
    ]
    for group, members in grouped(groups, by_cell).items():
        lines += [r"\midrule", rf"\multicolumn{{11}}{{@{{}}l}}{{\emph{{{escape(group)}}}}} \\"]
        lines += [_line(cell, by_cell[cell]) for cell in members]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _line(cell: str, entries: Sequence[Entry]) -> str:
    run = entries[0].run
    name = _accuracy(run.experiment)
    accuracy = summary(entries, name)
    values = [number(summary(entries, metric).mean, metric) for metric in LEVELS]
    columns = [
        method_name(run.method),
        escape(changes(run.experiment, run.task, cell, run.scale)).replace("→", r"$\to$"),
        *values[:2],
        _reach(run),
        *values[2:],
        interval(accuracy, name),
        seeds(accuracy),
    ]
    return " & ".join(columns) + r" \\"


def _accuracy(experiment: str) -> str:
    """The first accuracy the paper prints of an experiment, else the first metric."""
    metrics = METRICS[experiment]
    return next((metric for metric in metrics if metric.endswith("accuracy")), metrics[0])


def interventions_frame(by_cell: Cells) -> Any:
    """One row per cell and metric of the table, in full precision."""
    import pandas as pd

    rows = []
    for cell, entries in by_cell.items():
        run = entries[0].run
        for metric in dict.fromkeys((*LEVELS, *LEFT.values(), _accuracy(run.experiment))):
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


def floats(command: str, tables: Mapping[str, str], tasks: Mapping[str, Cells]) -> str:
    r"""`\\<command>{name of the task}{task}{scale}{table}` for each task: the paper makes one float of each."""
    found = []
    for task, table in tables.items():
        scale = next(iter(tasks[task].values()))[0].run.scale
        found.append(f"\\{command}{{{escape(task_name(task))}}}{{{task}}}{{{scale}}}{{%\n{table}}}")
    return "\n\n".join(found)


def interventions_macros(judged: Mapping[str, Sequence[Judged]], tasks: Mapping[str, Cells]) -> dict[str, str]:
    r"""Key -> value for \setresult: explanation/<task>/<id>, its verdict, and reach/<cell>, that of M in nats."""
    found = {
        f"explanation/{task}/{explained.explanation.id}": explained.verdict
        for task, explanations in judged.items()
        for explained in explanations
    }
    for cells_of in tasks.values():
        for entries in cells_of.values():
            if text := _reach(entries[0].run):
                found[f"reach/{entries[0].run.cell}"] = text
    return found
