"""The half-lives of the prior at its three levels, as LaTeX (booktabs) and csv."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskprior.analysis import persistence
from maskprior.analysis.aggregate import Summary, summarise
from maskprior.analysis.axes import COSINE, SHARE
from maskprior.analysis.records import Entry, cells, panels
from maskprior.report.output import NOTHING, method_name, number, task_name

LEVELS = ("parameter", "map", "function")


@dataclass(frozen=True)
class Persisted:
    """What became of the prior in one cell, at one level, over its completed seeds."""

    task: str
    scale: str
    method: str
    level: str
    initial: Summary
    final: Summary
    half_lives: tuple[persistence.HalfLife, ...]
    planned: int


def parameter_level(method: str) -> str:
    """Where a method keeps its prior: the mask for mask methods, the query-key logits for all others."""
    return "mask" if method.startswith("mask") else "query_key"


def persisted_cells(entries: Sequence[Entry], tasks: Sequence[str], methods: Sequence[str]) -> list[Persisted]:
    """The cells of these tasks and methods, task by task and scale by scale, each at the three levels."""
    return [
        persisted(members, level)
        for _, _, of_task in panels(entries, tasks)
        for (_, method), members in cells(of_task).items()
        if method in methods
        for level in LEVELS
    ]


def persisted(entries: Sequence[Entry], level: str) -> Persisted:
    """One cell at one level: alignment (function: F) at the start and end, half-lives."""
    run = entries[0].run
    done = [entry for entry in entries if entry.status == "completed"]
    initial, final, half_lives = [], [], []
    for entry in done:
        if level == "function":
            steps, values = persistence.function_level(entry.arrays, run.task, entry.dimension)
            half_lives.append(persistence.function_half_life(steps, values))
            initial.append(float(np.max(values, where=np.isfinite(values), initial=-math.inf)))
        else:
            name = "map" if level == "map" else parameter_level(run.method)
            values = persistence.alignment(entry.arrays, name)
            retained = persistence.retention(values, persistence.strength(entry.arrays)[0])
            half_lives.append(persistence.half_life(entry.arrays["persistence/step"], retained))
            initial.append(float(values[0]))
        final.append(float(values[-1]))
    planned, axis = len(entries), SHARE if level == "function" else COSINE
    first, last = (summarise(_finite(values), planned=planned, axis=axis) for values in (initial, final))
    return Persisted(run.task, run.scale, run.method_variant, level, first, last, tuple(half_lives), planned)


def _finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def half_life_text(found: Persisted) -> str:
    r"""The median half-life of the seeds that reach it. $\infty$: not reached; $\varnothing$: never there.

    How many of the planned seeds say so stands beside it unless all do.
    """
    states = [h.state for h in found.half_lives]
    reached = [h.step for h in found.half_lives if h.step is not None]
    words = {"reached": f"{np.median(reached):,.0f}".replace(",", r"\,")} if reached else {}
    words |= {"not reached": r"$\infty$", "never there": r"$\varnothing$", "undefined": NOTHING}
    count = {word: states.count(state) for state, word in words.items() if state in states}
    if list(count.values()) == [found.planned]:
        return next(iter(count))
    return ", ".join(rf"{word} \nof{{{n}}}{{{found.planned}}}" for word, n in count.items()) or NOTHING


def persistence_latex(found: Sequence[Persisted]) -> str:
    """Task and method; per level the value at the start (function: the best one) and the end, and the half-life.

    A row of another scale than the first one is of the paper's, and marked.
    """
    lines = [
        r"\begin{tabular}{@{}ll" + "rrr" * 3 + "@{}}",
        r"\toprule",
        r" & & \multicolumn{3}{c}{parameter} & \multicolumn{3}{c}{attention map} & \multicolumn{3}{c}{function} \\",
        r"\cmidrule(lr){3-5}\cmidrule(lr){6-8}\cmidrule(l){9-11}",
        r"task & method & start & end & half-life & start & end & half-life & best & end & half-life \\",
    ]
    by_cell: dict[tuple[str, str, str], dict[str, Persisted]] = {}
    for p in found:
        by_cell.setdefault((p.task, p.scale, p.method), {})[p.level] = p
    previous = None
    for (task, scale, method), levels in by_cell.items():
        if task != previous:
            lines.append(r"\midrule")
        mark = r" \atpaper" if scale != found[0].scale else ""
        columns = [task_name(task) if task != previous else "", f"{method_name(method)}{mark}"]
        for level in LEVELS:
            p = levels[level]
            start, end = (number(s.mean, level, digits=2) for s in (p.initial, p.final))
            columns += [start, end, half_life_text(p)]
        lines.append(" & ".join(columns) + r" \\")
        previous = task
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def persistence_frame(found: Sequence[Persisted]) -> Any:
    """One row per cell and level: means in full precision, half-lives as `step` or their state."""
    import pandas as pd

    return pd.DataFrame(
        {
            "task": p.task, "scale": p.scale, "method": p.method, "level": p.level,
            "start": p.initial.mean, "end": p.final.mean, "n": p.final.n, "planned": p.planned,
            "half_lives": "; ".join(h.state if h.step is None else f"{h.step:.1f}" for h in p.half_lives),
        }
        for p in found
    )  # fmt: skip
