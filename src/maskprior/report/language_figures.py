"""Figures 7 and 8: learning curves of the language models, and where mask and attention put weight over distances."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from maskprior.analysis.aggregate import bands
from maskprior.analysis.axes import LOG
from maskprior.analysis.records import Entry, cells
from maskprior.patterns.language import mask_logits
from maskprior.report.figures import COLOURS, DASHES, GRAY, SOFTER, WIDTH, Array
from maskprior.report.output import method_name, task_name

NEAR = 4  # distances at which M itself is shown: beyond them its prior drowns all change


def curves(entries: Sequence[Entry], methods: Sequence[str]) -> Figure:
    """Validation perplexity on the probe over training (above), and its loss minus Default's by seed (below)."""
    tasks = list(dict.fromkeys(entry.run.task for entry in entries))
    figure, axes = plt.subplots(2, len(tasks), figsize=(WIDTH, 3.6), layout="constrained", sharex=True, squeeze=False)
    by_cell = cells(entries)
    for column, task in enumerate(tasks):
        above, below = axes[:, column]
        above.set_title(task_name(task))
        default = _losses(by_cell.get((task, "default"), []))
        for method in methods:
            own = _losses(by_cell.get((task, method), []))
            _line(above, method, {seed: (steps, np.exp(losses)) for seed, (steps, losses) in own.items()})
            if method != "default":
                both = own.keys() & default.keys()
                _line(below, method, {seed: (own[seed][0], own[seed][1] - default[seed][1]) for seed in sorted(both)})
        below.axhline(0, color=COLOURS["default"], linewidth=0.8, zorder=0)
        above.set_xscale("symlog", linthresh=1)
        above.set_yscale("log")
        above.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        above.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        above.yaxis.set_minor_formatter(NullFormatter())
        below.set_xlabel("step")
    axes[0, 0].set_ylabel("validation perplexity")
    axes[1, 0].set_ylabel("loss $-$ Default's (nats)")
    return _legend(figure, axes, methods)


def _losses(entries: Sequence[Entry]) -> dict[int, tuple[Array, Array]]:
    """Seed -> steps and validation losses of the completed runs."""
    found = {}
    for entry in entries:
        if entry.status == "completed":
            found[entry.run.seed] = entry.arrays["trace/step"], entry.arrays["trace/val_loss"].astype(np.float64)
    return found


def _line(ax: Axes, method: str, runs: dict[int, tuple[Array, Array]]) -> None:
    """Mean over the seeds, with the 95 % interval as a band."""
    if not runs:
        return
    x, values = next(iter(runs.values()))[0], np.stack([y for _, y in runs.values()])
    style = {"color": COLOURS.get(method, "0.5"), "linestyle": DASHES.get(method, "solid")}
    means, low, high = bands(values, LOG)
    ax.plot(x, means, label=method_name(method), **style)
    ax.fill_between(x, low, high, color=style["color"], alpha=0.18, linewidth=0, zorder=1)


def profiles(entries: Sequence[Entry], methods: Sequence[str]) -> Figure:
    """A row per task: M by distance, what training added to it, then the attention by distance before and after.

    Added: beyond what weight decay alone makes of M. Means over layers, heads, rows and completed seeds; a thin line is
    one layer of the paper's mask.
    """
    tasks = list(dict.fromkeys(entry.run.task for entry in entries))
    size = (WIDTH, 1.6 * len(tasks) + 0.5)
    figure, axes = plt.subplots(len(tasks), 4, figsize=size, layout="constrained", squeeze=False)
    by_cell = cells(entries)
    for row, task in enumerate(tasks):
        mask, change, before, after = axes[row]
        for method in methods:
            done = [entry for entry in by_cell.get((task, method), []) if entry.status == "completed"]
            if not done:
                continue
            style: dict[str, Any] = {"color": COLOURS.get(method, "0.5"), "linestyle": DASHES.get(method, "solid")}
            if "profile/mask_final" in done[0].arrays:
                first, last = (_mean(done, f"profile/mask_{word}") for word in ("initial", "final"))
                mask.plot(first.mean(0)[: NEAR + 1], color=style["color"], linestyle=":", linewidth=1)
                mask.plot(last.mean(0)[: NEAR + 1], **style)
                added = last - decayed(done[0].record.config["optimizer"]) * first if done[0].record else last
                _by_distance(change, added.mean(0), **style)
                for layer in added if method == "mask" else []:
                    _by_distance(change, layer, color=style["color"], linewidth=0.4, alpha=0.6)
            for ax, word in ((before, "initial"), (after, "final")):
                profile = _mean(done, f"profile/attention_{word}").mean(0)
                _by_distance(ax, profile, label=method_name(method), **style)
        mask.set_ylabel(task_name(task))
        mask.xaxis.set_major_locator(MaxNLocator(integer=True))
        for ax in (before, after):
            ax.set_yscale("log")
            ax.set_ylim(1e-5, 1.5)
            ax.yaxis.set_minor_formatter(NullFormatter())
    titles = ("M, before (dotted)\nand after", "learned change\nof M", "attention before", "attention after")
    for ax, title in zip(axes[0], titles, strict=True):
        ax.set_title(title)
    for ax, unit in zip(axes[-1], ("distance", *3 * ("distance + 1",)), strict=True):
        ax.set_xlabel(unit)
    return _legend(figure, axes, methods)


def decayed(optimizer: Mapping[str, Any]) -> float:
    """What AdamW's decay alone leaves of an M of 1: the product of 1 - rate x decay over a cosine schedule's steps."""
    done = np.arange(optimizer["steps"]) / optimizer["steps"]
    rates = optimizer["lr"] * optimizer["mask_lr_multiplier"] * 0.5 * (1 + np.cos(np.pi * done))
    return float(np.prod(1 - rates * optimizer["mask_weight_decay"]))


def _added(entry: Entry) -> Array:
    """What training added to M beyond weight decay in the first head, (L, N, N)."""
    assert entry.record is not None
    config, change = entry.record.config, entry.arrays["mask_change_first_head"].astype(np.float64)
    model, mask = config["model"], config["mask"]
    start = mask_logits(mask["prior"], heads=model["heads"], tokens=model["block"], scale=mask["scale"])[0]
    return change + (1 - decayed(config["optimizer"])) * start


def _by_distance(ax: Axes, profile: Array, **style: Any) -> None:
    ax.plot(np.arange(len(profile)) + 1, profile, **style)
    ax.set_xscale("log")


def _mean(entries: Sequence[Entry], name: str) -> Array:
    """(L, N): mean over seeds and heads."""
    return np.stack([entry.arrays[name].astype(np.float64) for entry in entries]).mean((0, 2))


def mask_changes(entries: Sequence[Entry], *, seed: int = 0, tokens: int = 24) -> Figure:
    """What training added to M beyond weight decay, first head: a row per task, a column per layer; `tokens` tokens."""
    tasks = list(dict.fromkeys(entry.run.task for entry in entries))
    found = {
        entry.run.task: entry for entry in entries if entry.run.method_variant == "mask" and entry.run.seed == seed
    }
    shown = {task: _added(entry)[:, :tokens, :tokens] for task, entry in found.items() if entry.record}
    layers = max((len(c) for c in shown.values()), default=1)
    limit = max((float(np.abs(c).max()) for c in shown.values()), default=1.0) or 1.0
    size = (WIDTH, WIDTH / (layers + 0.8) * len(tasks) + 0.35)
    figure, axes = plt.subplots(len(tasks), layers, figsize=size, layout="constrained", squeeze=False)
    image = None
    for row, task in enumerate(tasks):
        for layer in range(layers):
            ax = axes[row, layer]
            if task in shown and layer < len(shown[task]):
                future = np.triu(np.ones(shown[task].shape[1:], dtype=bool), 1)
                values = np.ma.array(shown[task][layer], mask=future)
                image = ax.imshow(
                    values, cmap="RdBu", vmin=-SOFTER * limit, vmax=SOFTER * limit, interpolation="nearest"
                )
            else:
                ax.text(0.5, 0.5, "no\nrecord", ha="center", va="center", transform=ax.transAxes, color=GRAY)
            ax.set_xticks([])
            ax.set_yticks([])
            if row == 0:
                ax.set_title(f"layer {layer + 1}")
        axes[row, 0].set_ylabel(f"{task_name(task)}\nquery token")
    for ax in axes[-1]:
        ax.set_xlabel("key token")
    if image is not None:
        bar = figure.colorbar(image, ax=axes, shrink=0.8, aspect=18, pad=0.02)
        bar.ax.set_ylim(-limit, limit)
        bar.set_label("learned change of M")
        bar.outline.set_linewidth(0.5)
    return figure


def _legend(figure: Figure, axes: Any, methods: Sequence[str]) -> Figure:
    handles: dict[str, Any] = {}
    for ax in axes.flat:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    names = [name for name in map(method_name, methods) if name in handles]
    figure.legend([handles[name] for name in names], names, loc="outside lower center", ncols=4, handlelength=2.6)
    sns.despine(figure)
    return figure
