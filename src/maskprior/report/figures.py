"""Figures, in one style: colour-blind safe, text as text, and the same bytes from the same records."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from maskprior.analysis import persistence
from maskprior.analysis.aggregate import bands
from maskprior.analysis.axes import COSINE, LOG, PLAIN, SHARE, Axis
from maskprior.analysis.records import Entry, experiment_of, panels
from maskprior.datasets import boolean
from maskprior.patterns.pattern import Pattern
from maskprior.report.output import generated, method_name, task_name
from maskprior.report.persistence_table import parameter_level
from maskprior.runs.spec import make_run, resolve
from maskprior.tasks import find as find_task

WIDTH = 6.5  # inches: the text width of the paper
SOFTER = 1.4  # the ends of a diverging colour map are too dark for whole panels
BLUE, ORANGE, GREEN, RED, PURPLE, BROWN, PINK, GRAY, YELLOW, SKY = sns.color_palette("colorblind", 10)
COLOURS = {
    "default": "0.25",
    "default+position18": "0.6",
    "structured_svd": ORANGE,
    "structured_opt": PURPLE,
    "structured_opt+position18": RED,
    "structured_svd+position1": BROWN,
    "mask+position18": PINK,
    "mask": BLUE,
    "mask_zero": GREEN,
    "mask_fixed": SKY,
    "svd_bias": BROWN,
    "mimetic": ORANGE,
    "impulse": RED,
    "mask+alibi": GREEN,
}
DASHES: dict[str, Any] = {
    "default+position18": (0, (1, 1)),
    "structured_svd": (0, (4, 1.5)),
    "structured_opt": (0, (4, 1, 1, 1)),
    "structured_opt+position18": (0, (4, 1, 1, 1, 1, 1)),
    "structured_svd+position1": (0, (1, 1)),
    "mask+position18": (0, (4, 1.5)),
    "mask_zero": (0, (2, 1)),
    "mimetic": (0, (4, 1.5)),
    "mask+alibi": (0, (4, 1, 1, 1)),
}
# The tokens of an arithmetic input; no other input has as many.
DIGIT_TOKENS = ("a_2", "a_1", "a_0", "b_2", "b_1", "b_0")

Array = np.ndarray[Any, Any]
Series = Callable[[Entry], tuple[Array, Array]]


def use_style() -> None:
    """Call once before plotting."""
    sns.set_theme(
        context="paper",
        style="ticks",
        rc={
            "pdf.fonttype": 42,
            "svg.hashsalt": "maskprior",
            "font.size": 8,
            "axes.titlesize": 8,
            "axes.labelsize": 8,
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "legend.fontsize": 7.5,
            "legend.frameon": False,
            "axes.linewidth": 0.6,
            "xtick.major.width": 0.6,
            "ytick.major.width": 0.6,
            "xtick.minor.width": 0.4,
            "xtick.major.size": 3,
            "ytick.major.size": 3,
            "xtick.minor.size": 1.5,
            "lines.linewidth": 1.2,
            "figure.dpi": 110,
            "savefig.dpi": 220,
        },
    )


def save(figure: Figure, name: str, *, note: str | None = None) -> None:
    """paper/generated/<name>.pdf and .png, without dates; a note goes into the PNG."""
    path = generated(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None, "ModDate": None})
    figure.savefig(path.with_suffix(".png"), metadata={"Software": None} | ({"Description": note} if note else {}))


# --- patterns and maps ----------------------------------------------------------------------------------------------


def task_pattern(task: str, scale: str) -> Pattern:
    """The pattern a task's runs use at a scale."""
    config = _config(task, scale)
    shape = {"layers": config.model.layers, "heads": config.model.heads}
    if experiment_of(task) == "boolean":
        shape["tokens"] = config.dimension
    found: Pattern = find_task(experiment_of(task), task).patterns[config.pattern](**shape)
    return found


def mask_logits(task: str, scale: str) -> Array:
    """M before training, (L, H, N, N)."""
    return task_pattern(task, scale).mask_logits(_config(task, scale).mask.amplitude)


def _config(task: str, scale: str) -> Any:
    return resolve(make_run(experiment_of(task), task, "mask", scale=scale))


def patterns(tasks: Sequence[str], scale: str) -> Figure:
    """Open entries (dark) of each task's pattern; one panel where all heads agree, else one a head."""
    panels = []
    for task in tasks:
        opened = task_pattern(task, scale).open[0]
        if (opened == opened[0]).all():
            panels.append((task_name(task), opened[0]))
        else:
            panels += [(f"{task_name(task)}\nhead {head + 1}", opened[head]) for head in range(len(opened))]
    size = (WIDTH, WIDTH / len(panels) + 0.5)
    figure, axes = plt.subplots(1, len(panels), figsize=size, layout="constrained", squeeze=False)
    for ax, (title, opened) in zip(axes[0], panels, strict=True):
        ax.imshow(opened, cmap="Blues", vmin=0, vmax=1.15, interpolation="nearest")
        _token_axes(ax, len(opened))
        ax.set_title(title)
    axes[0, 0].set_ylabel("query token")
    for ax in axes[0]:
        ax.set_xlabel("key token")
    return figure


def initial_masks(tasks: Sequence[str], scale: str) -> Figure:
    """M before training: a column per task (first layer), a row per head, or one row where all heads agree."""
    logits = {task: mask_logits(task, scale)[0] for task in tasks}
    same = all((m == m[0]).all() for m in logits.values())
    heads = 1 if same else len(logits[tasks[0]])
    size = (1.05 * (len(tasks) + 1.1), 1.05 * heads + 0.4)
    figure, axes = plt.subplots(
        heads, len(tasks), figsize=size, layout="constrained", sharex="col", sharey="col", squeeze=False
    )
    limit = max(float(np.abs(m).max()) for m in logits.values())
    for column, task in enumerate(tasks):
        axes[0, column].set_title(task_name(task))
        for head in range(heads):
            ax = axes[head, column]
            image = ax.imshow(logits[task][head], cmap="RdBu", vmin=-SOFTER * limit, vmax=SOFTER * limit)
            _token_axes(ax, logits[task].shape[-1])
    for head in range(heads):
        axes[head, 0].set_ylabel(f"{'all heads' if same else f'head {head + 1}'}\nquery token")
    for ax in axes[-1]:
        ax.set_xlabel("key token")
    bar = figure.colorbar(image, ax=axes, shrink=0.6, aspect=25, pad=0.02, ticks=[-limit, 0, limit])
    bar.ax.set_ylim(-limit, limit)
    bar.set_label("mask logit M")
    bar.outline.set_linewidth(0.5)
    return figure


def attention_before_after(
    entries: Sequence[Entry],
    tasks: Sequence[str],
    methods: Sequence[str],
    *,
    layer: int = 0,
    head: int = 0,
    seed: int = 0,
) -> Figure:
    """The pattern, then the mean attention before and after training of each method: a row per task and scale."""
    rows, columns = panels(entries, tasks), 1 + 2 * len(methods)
    figure, axes = plt.subplots(
        len(rows), columns, figsize=(WIDTH, WIDTH / (columns + 0.8) * len(rows) + 0.55), layout="constrained",
        sharex=True, sharey=True, squeeze=False,
    )  # fmt: skip
    image = None
    for row, (task, scale, members) in enumerate(rows):
        found = {e.run.method_variant: e for e in members if e.run.seed == seed}
        target = task_pattern(task, scale).target_map()[layer, head]
        maps: list[tuple[str, Array | None]] = [("pattern", target)]
        for method in methods:
            arrays = found[method].arrays if method in found else {}
            for word, array in (("before", "maps/attention_initial"), ("after", "maps/attention_final")):
                map_ = arrays[array][layer, head].astype(np.float64) if array in arrays else None
                maps.append((word, map_))
        for column, (title, values) in enumerate(maps):
            ax = axes[row, column]
            if values is None:
                ax.text(0.5, 0.5, "no\nrecord", ha="center", va="center", transform=ax.transAxes, color="0.5")
            else:
                image = ax.imshow(values, cmap="mako_r", vmin=0, vmax=1, interpolation="nearest")
            _token_axes(ax, len(target))
            if row == 0:
                ax.set_title(title)
        axes[row, 0].set_ylabel(f"{_title(task, scale, entries)}\nquery token")
    for ax in axes[-1]:
        ax.set_xlabel("key token")
    if image is not None:
        bar = figure.colorbar(image, ax=axes, shrink=0.75, aspect=22, pad=0.015)
        bar.set_label("attention")
        bar.outline.set_linewidth(0.5)
    _method_headings(figure, axes, methods)
    return figure


def _method_headings(figure: Figure, axes: Any, methods: Sequence[str]) -> None:
    """The method's name above its before and after columns, where constrained layout has put them."""
    top = 0.93
    figure.get_layout_engine().set(rect=(0, 0, 1, top))  # type: ignore[union-attr, call-arg]
    figure.canvas.draw()
    for index, method in enumerate(methods):
        left, right = axes[0, 1 + 2 * index].get_position(), axes[0, 2 + 2 * index].get_position()
        colour = COLOURS.get(method, "0.2")
        middle = (left.x0 + right.x1) / 2
        figure.text(middle, top, method_name(method), ha="center", va="bottom", fontweight="bold", color=colour)


def _token_axes(ax: Axes, tokens: int) -> None:
    ticks = [0, 1, 2] if tokens < 10 else [0, 5, 10]
    names = [f"${name}$" for name in DIGIT_TOKENS] if tokens == len(DIGIT_TOKENS) else None
    ax.set_xticks(range(tokens) if names else ticks, names)
    ax.set_yticks(range(tokens) if names else ticks, names)
    ax.tick_params(length=2)
    if names:
        ax.tick_params(labelsize=5.5)


# --- curves over training -------------------------------------------------------------------------------------------


def trace(name: str) -> Series:
    """A scalar trace of a run."""
    return lambda entry: (entry.arrays["trace/step"], entry.arrays[f"trace/{name}"])


def level(name: str) -> Series:
    """The prior at a level (`parameter`, `map` or `function`) over a run's training."""

    def read(entry: Entry) -> tuple[Array, Array]:
        if name == "function":
            return persistence.function_level(entry.arrays, entry.run.task, entry.dimension)
        array = "map" if name == "map" else parameter_level(entry.run.method)
        return entry.arrays["persistence/step"], persistence.alignment(entry.arrays, array)

    return read


def learning_curves(entries: Sequence[Entry], tasks: Sequence[str], methods: Sequence[str]) -> Figure:
    """Mean prediction on unseen inputs (above) and test loss (below) over training: one curve a method."""
    figure, axes = _grid(2, entries, tasks)
    for column, (task, _, members) in enumerate(panels(entries, tasks)):
        _curves(axes[0, column], members, methods, trace("unseen_mean_prediction"))
        _curves(axes[1, column], members, methods, trace("test_loss"), LOG)
        x = boolean.cube(6)
        learned = find_task("boolean", task)
        x = x[~learned.seen(x)]
        means = {"target": learned.target(x).mean(), "interpolator": learned.interpolate(x).mean()}
        for text, mean in means.items():
            _reference(axes[0, column], float(mean), text)
        mdi = next((e.reference["mdi_test_loss"] for e in members if e.record), None)
        if mdi is not None:
            _reference(axes[1, column], mdi, "interpolator")
        axes[1, column].set_yscale("log")
        axes[1, column].yaxis.set_major_locator(LogLocator(numticks=5))
        axes[1, column].yaxis.set_major_formatter(FuncFormatter(lambda loss, _: f"{loss:g}"))
        axes[1, column].yaxis.set_minor_formatter(NullFormatter())
    axes[0, 0].set_ylabel("mean prediction, unseen")
    axes[1, 0].set_ylabel("test loss (MSE)")
    return _finish(figure, axes, methods)


def three_levels(entries: Sequence[Entry], tasks: Sequence[str], methods: Sequence[str]) -> Figure:
    """The prior in the parameter, in the attention map and in the function over training: one curve a method."""
    labels = {"parameter": "parameter", "map": "attention map", "function": "function"}
    figure, axes = _grid(len(labels), entries, tasks)
    for row, (name, label) in enumerate(labels.items()):
        for column, (_, _, members) in enumerate(panels(entries, tasks)):
            ax = axes[row, column]
            _curves(ax, members, methods, level(name), SHARE if name == "function" else COSINE)
            ax.set_ylim(-0.15, 1.08)
            ax.axhline(0, color="0.8", linewidth=0.6, zorder=0)
            ax.axhline(1, color="0.8", linewidth=0.6, zorder=0)
        axes[row, 0].set_ylabel(f"{label}\n{'function F(t)' if name == 'function' else 'alignment c(t)'}")
    return _finish(figure, axes, methods)


def _grid(rows: int, entries: Sequence[Entry], tasks: Sequence[str]) -> tuple[Figure, Any]:
    """A column per task and scale."""
    titles = [_title(task, scale, entries) for task, scale, _ in panels(entries, tasks)]
    figure, axes = plt.subplots(
        rows, len(titles), figsize=(WIDTH, 1.45 * rows + 0.5), layout="constrained", sharex=True, squeeze=False
    )
    for ax, title in zip(axes[0], titles, strict=True):
        ax.set_title(title)
    return figure, axes


def _title(task: str, scale: str, entries: Sequence[Entry]) -> str:
    """The task, and its scale where it is not that of the first entries."""
    return task_name(task) if scale == entries[0].run.scale else f"{task_name(task)}\n({scale}'s scale)"


def _curves(ax: Axes, entries: Sequence[Entry], methods: Sequence[str], read: Series, axis: Axis = PLAIN) -> None:
    """Mean over the completed seeds, with the 95 % interval as a band; step 0 stands at 1/2 of the logarithmic axis."""
    for method in methods:
        runs = [read(e) for e in entries if e.run.method_variant == method and e.status == "completed"]
        if not runs:
            continue
        steps = np.maximum(np.asarray(runs[0][0], dtype=np.float64), 0.5)
        values = np.stack([np.asarray(v, dtype=np.float64) for _, v in runs])
        if not np.isfinite(values).any():
            continue
        style = {"color": COLOURS.get(method, "0.5"), "linestyle": DASHES.get(method, "solid")}
        # The fixed mask often coincides with the mask: a broad line behind it stays visible.
        front, width = {"mask": (3, 1.2), "mask_fixed": (1.5, 2.8)}.get(method, (2, 1.2))
        means, low, high = bands(values, axis)
        ax.plot(steps, means, label=method_name(method), zorder=front, linewidth=width, **style)
        ax.fill_between(steps, low, high, color=style["color"], alpha=0.18, linewidth=0, zorder=1)
    ax.set_xscale("log")


REFERENCES: dict[str, Any] = {"target": (0, (5, 2)), "interpolator": (0, (1, 1.5))}


def _reference(ax: Axes, value: float, text: str) -> None:
    """A line across the panel; the legend says what it is, where a label would lie on the curves."""
    ax.axhline(value, color="0.45", linewidth=0.8, linestyle=REFERENCES[text], zorder=0, label=text)


def _finish(figure: Figure, axes: Any, methods: Iterable[str]) -> Figure:
    for ax in axes[-1]:
        ax.set_xlabel("step")
        _decades(ax, narrow=axes.shape[1] > 4)
    handles: Mapping[str, Any] = {}
    for ax in axes.flat:
        handles = {**handles, **dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))}
    names = [name for name in (*map(method_name, methods), *REFERENCES) if name in handles]
    columns = min(4, max(1, len(names)))
    lines = [handles[name] for name in names]
    figure.legend(lines, names, loc="outside lower center", ncols=columns, handlelength=2.6)
    sns.despine(figure)
    return figure


def _decades(ax: Axes, *, narrow: bool) -> None:
    """A tick at step 0 and at every power of ten; a narrow panel has room for every second name."""
    last = ax.get_xlim()[1]
    powers = [10.0**k for k in range(6) if 10**k <= last]
    names = ["1", *(f"$10^{k}$" for k in range(1, len(powers)))]
    if narrow:
        names = [name if k in (2, 4) else "" for k, name in enumerate(names)]
    ax.xaxis.set_major_locator(FixedLocator([0.5, *powers]))
    ax.set_xticklabels(["0", *names])
    ax.xaxis.set_minor_formatter(NullFormatter())
