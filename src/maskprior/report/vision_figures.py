"""Figures 9 to 14: the impulse patterns, what training makes of the masks, attention maps and learning curves."""

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from maskprior.analysis import persistence
from maskprior.analysis.aggregate import bands
from maskprior.analysis.axes import COSINE, LOG, PERCENT, Axis
from maskprior.analysis.measured import summary
from maskprior.analysis.records import Entry, cells
from maskprior.patterns.vision import OFFSETS, ORDERS, shift
from maskprior.report.figures import BLUE, COLOURS, DASHES, GREEN, ORANGE, RED, SKY, WIDTH
from maskprior.report.output import method_name, task_name
from maskprior.runs.spec import make_run, resolve

TASKS = ("cifar10", "cifar100", "imagenet100")
METHODS = ("default", "mimetic", "impulse", "mask_fixed", "mask")
VISION_COLOURS = {**COLOURS, "mimetic": GREEN, "impulse": ORANGE, "mask": BLUE, "mask_fixed": SKY}
VISION_DASHES = {**DASHES, "mimetic": (0, (2, 1)), "impulse": (0, (4, 1.5))}

Array = np.ndarray[Any, Any]


def impulse_patterns(order: str, heads: int, *, side: int = 4) -> Figure:
    """The nine offsets of the 3x3 neighbourhood on a side x side grid of patches, and which head has which."""
    figure, axes = plt.subplots(1, 9, figsize=(WIDTH, 1.2), layout="constrained", sharey=True)
    for k, (ax, offset) in enumerate(zip(axes, OFFSETS, strict=True)):
        opened = shift(offset, side)
        ax.imshow(opened, cmap="Blues", vmin=0, vmax=1.15, interpolation="nearest")
        owners = [str(head + 1) for head in range(heads) if ORDERS[order][head % len(OFFSETS)] == k]
        ax.set_title(
            f"({offset[0]}, {offset[1]})".replace("-", "−") + (f"\nhead {', '.join(owners)}" if owners else "\n")
        )
        ax.set_xticks([0, side**2 - 1])
        ax.set_yticks([0, side**2 - 1])
        ax.tick_params(length=2)
    axes[0].set_ylabel("query patch")
    axes[4].set_xlabel("key patch")
    return figure


def learned_masks(
    entries: Sequence[Entry], task: str, scale: str, tasks: Sequence[str] = TASKS, *, seed: int = 0
) -> Figure:
    """log sigmoid(M) after training, layers x heads of one seed; beside it M's mean, and what decay alone leaves."""
    config = _config(task, scale)
    layers, heads = config.map_layers, config.model.heads
    figure = plt.figure(figsize=(WIDTH, 1.25 * len(layers) + 0.3), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.65, 1))  # type: ignore[misc]
    axes = left.subplots(len(layers), heads, sharex=True, sharey=True, squeeze=False)
    entry = _entry(entries, task, "mask", seed)
    masks = entry.arrays.get("maps/mask_final") if entry else None
    image = None
    for row, layer in enumerate(layers):
        axes[row, 0].set_ylabel(f"layer {layer + 1}\nquery token")
        for head in range(heads):
            ax = axes[row, head]
            if masks is None:
                _no_record(ax)
            else:
                bias = -np.logaddexp(0, -masks[row, head].astype(np.float64))
                image = ax.imshow(bias, cmap="mako", vmin=-config.mask.amplitude, vmax=0, interpolation="nearest")
            ax.tick_params(length=2)
            if row == 0:
                ax.set_title(f"head {head + 1}")
    for ax in axes[-1]:
        ax.set_xlabel("key token")
    if image is not None:
        bar = left.colorbar(image, ax=axes, shrink=0.7, aspect=22, pad=0.02)
        bar.set_label("log σ(M)")
        bar.outline.set_linewidth(0.5)
    _levels(right.subplots(), entries, tasks, config.mask.amplitude)
    return figure


def _levels(ax: Axes, entries: Sequence[Entry], tasks: Sequence[str], amplitude: float) -> None:
    """Mean M over open and over closed entries, over the seeds, beside decay alone and the start."""
    by_cell = cells(entries)
    for y, task in enumerate(tasks):
        members = by_cell.get((task, "mask"), [])
        for name, colour in (("open", BLUE), ("closed", RED)):
            end, decayed = (summary(members, f"mask_{name}{suffix}") for suffix in ("", "_decay_only"))
            if end.n:
                ax.plot(decayed.mean, y + 0.12, "|", color="0.3", markersize=9, label="decay alone")
                ax.plot(end.mean, y - 0.12, "o", color=colour, markersize=3.5, label=f"{name} entries")
            if end.has_interval:
                ax.plot([end.low, end.high], [y - 0.12] * 2, color=colour, linewidth=1)
    for sign in (-1, 1):
        ax.axvline(sign * amplitude, color="0.75", linewidth=0.7, linestyle=":", zorder=0, label="start")
    ax.axvline(0, color="0.85", linewidth=0.6, zorder=0)
    ax.set_xlim(-1.2 * amplitude, 1.2 * amplitude)
    ax.set_ylim(len(tasks) - 0.5, -0.5)
    ax.set_yticks(range(len(tasks)), [task_name(task) for task in tasks])
    ax.set_xlabel("mean M after training")
    handles = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    ax.legend(
        handles.values(), handles.keys(), loc="lower right", bbox_to_anchor=(1.02, 1.0), ncols=2, handlelength=1,
        columnspacing=1, handletextpad=0.4, fontsize=6.5,
    )  # fmt: skip
    sns.despine(ax=ax)


def attention_maps(
    entries: Sequence[Entry], task: str, scale: str, methods: Sequence[str] = METHODS, *, seed: int = 0
) -> Figure:
    """Attention of the first test image after training: a row a method, a column a head of the layers that are kept."""
    config = _config(task, scale)
    columns = [(i, layer, head) for i, layer in enumerate(config.map_layers) for head in range(config.model.heads)]
    figure, axes = plt.subplots(
        len(methods), len(columns), figsize=(WIDTH, 0.72 * len(methods) + 0.55), layout="constrained",
        sharex=True, sharey=True, squeeze=False,
    )  # fmt: skip
    image = None
    for row, method in enumerate(methods):
        entry = _entry(entries, task, method, seed)
        maps = entry.arrays.get("maps/attention_first_image") if entry else None
        axes[row, 0].set_ylabel(method_name(method).replace(", ", ",\n"))
        for ax, (i, layer, head) in zip(axes[row], columns, strict=True):
            if maps is None:
                _no_record(ax)
            else:
                values = maps[i, head].astype(np.float64)
                image = ax.imshow(values, cmap="mako_r", norm=PowerNorm(0.5, 0, 1), interpolation="nearest")
            ax.set_xticks([])
            ax.set_yticks([])
            if row == 0:
                ax.set_title(f"layer {layer + 1}\nhead {head + 1}" if head == 0 else f"\nhead {head + 1}", fontsize=7)
    figure.supxlabel("key token", fontsize=8)
    if image is not None:
        bar = figure.colorbar(image, ax=axes, shrink=0.7, aspect=26, pad=0.01, ticks=[0, 0.01, 0.1, 0.5, 1])
        bar.set_label("attention")
        bar.ax.set_yticklabels(["0", "0.01", "0.1", "0.5", "1"])
        bar.outline.set_linewidth(0.5)
    return figure


def vision_curves(entries: Sequence[Entry], tasks: Sequence[str] = TASKS, methods: Sequence[str] = METHODS) -> Figure:
    """Top-1 and loss on test images, and the attention map's alignment with the pattern, over epochs: one curve a
    method, the mean over the completed seeds with its 95 % interval as a band."""
    reads: dict[str, tuple[Callable[[Entry], tuple[Array, Array]], Axis]] = {
        "test top-1 (%)": (lambda e: (e.arrays["trace/step"], e.arrays["trace/test_top1"]), PERCENT),
        "test loss (nats)": (lambda e: (e.arrays["trace/step"], e.arrays["trace/test_loss"]), LOG),
        "alignment c(t)": (lambda e: (e.arrays["persistence/step"], persistence.alignment(e.arrays, "map")), COSINE),
    }
    figure, axes = plt.subplots(
        len(reads),
        len(tasks),
        figsize=(WIDTH, 1.4 * len(reads) + 0.5),
        layout="constrained",
        sharex="col",
        squeeze=False,
    )
    for column, task in enumerate(tasks):
        axes[0, column].set_title(task_name(task))
        for row, (read, axis) in enumerate(reads.values()):
            _curves(axes[row, column], entries, task, methods, read, axis)
        axes[-1, column].set_xlabel("epoch")
        axes[-1, column].set_ylim(-0.15, 1.05)
    for row, name in enumerate(reads):
        axes[row, 0].set_ylabel(name)
    handles: dict[str, Any] = {}
    for ax in axes.flat:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    names = [method_name(method) for method in methods if method_name(method) in handles]
    figure.legend(
        [handles[n] for n in names], names, loc="outside lower center", ncols=max(1, len(names)), handlelength=2.6
    )
    sns.despine(figure)
    return figure


def _curves(
    ax: Axes,
    entries: Sequence[Entry],
    task: str,
    methods: Sequence[str],
    read: Callable[[Entry], tuple[Array, Array]],
    axis: Axis,
) -> None:
    by_cell = cells(entries)
    for method in methods:
        done = [entry for entry in by_cell.get((task, method), []) if entry.status == "completed"]
        if not done:
            continue
        assert done[0].record is not None
        per_epoch = done[0].record.config["optimizer"]["steps_per_epoch"]
        epochs = np.asarray(read(done[0])[0], dtype=np.float64) / per_epoch
        values = np.stack([np.asarray(read(entry)[1], dtype=np.float64) for entry in done])
        colour = VISION_COLOURS[method]
        means, low, high = bands(values, axis)
        ax.plot(
            epochs, means, color=colour, linestyle=VISION_DASHES.get(method, "solid"),
            label=method_name(method), zorder=3 if method == "mask" else 2,
        )  # fmt: skip
        ax.fill_between(epochs, low, high, color=colour, alpha=0.15, linewidth=0, zorder=1)


def _config(task: str, scale: str) -> Any:
    return resolve(make_run("vision", task, "mask", scale=scale))


def _entry(entries: Sequence[Entry], task: str, method: str, seed: int) -> Entry | None:
    wanted = (task, method, seed)
    return next((e for e in entries if (e.run.task, e.run.method_variant, e.run.seed) == wanted), None)


def _no_record(ax: Axes) -> None:
    ax.text(0.5, 0.5, "no\nrecord", ha="center", va="center", transform=ax.transAxes, color="0.5", fontsize=6)
