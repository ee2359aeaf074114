"""All published numbers at one look: each a dot, the paper's value against ours."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter
from PIL import Image

from maskprior import paths
from maskprior.analysis.claims import Judgement
from maskprior.analysis.decide import CONTRADICTED, FEW, HOLDS, NOT_TESTED, OPEN
from maskprior.report.figures import WIDTH, save
from maskprior.report.outcomes import SCALES
from maskprior.report.output import method_name, task_name, write_text

NAME = "dots"
README_PICTURE = "docs/dots.png"
NO_DIRECTION = "no direction claimed"
# Outcome -> face and edge. Told apart also without colour: by their lightness, and what is decided is filled.
FACES = {
    HOLDS: ("#005587", "white"),
    CONTRADICTED: ("#e07b00", "black"),
    OPEN: ("none", "0.45"),
    FEW: ("0.85", "0.45"),
    NO_DIRECTION: ("none", "0.8"),
}
WORDS = {FEW: "too few seeds to say", NO_DIRECTION: NO_DIRECTION}
MARKERS = {"paper": "D", "reduced": "o", "smoke": "s"}
SMALLEST, MORE_A_SEED = 13.0, 8.0  # areas in square points


def points(judgements: Sequence[Judgement]) -> Any:
    """A pandas DataFrame: one row for each distinct published number and scale that has a run of it."""
    import pandas as pd

    found = []
    for j in judgements:
        reported, ours = j.claim.reported, j.ours
        if reported is None or j.claim.again or ours is None or ours.n == 0:
            continue
        direction = NO_DIRECTION if j.direction is None else FEW if j.direction == NOT_TESTED else j.direction
        found.append(
            {
                "id": j.claim.id, "task": reported.task, "method": reported.method, "metric": reported.metric,
                "scale": j.scale, "published": reported.value, "ours": ours.mean, "seeds": ours.n,
                "direction": direction,
            }
        )  # fmt: skip
    return pd.DataFrame(
        found, columns=["id", "task", "method", "metric", "scale", "published", "ours", "seeds", "direction"]
    )


def figure(dots: Any) -> Figure:
    """Two panels: losses and perplexities on logarithmic axes, accuracies in percent on linear ones."""
    percent = dots.metric.str.endswith(("accuracy", "top1"))
    drawn, axes = plt.subplots(1, 2, figsize=(WIDTH, 3.0), layout="constrained")
    _panel(axes[0], dots[~percent], "losses and perplexities (lower is better)")
    _panel(axes[1], dots[percent], "accuracies in percent (higher is better)")
    _logarithmic(axes[0])
    axes[1].set(xlim=(-4, 104), ylim=(-4, 104))
    _diagonal(axes[0])
    _diagonal(axes[1])
    _name_the_farthest(axes[1], dots[percent])
    drawn.legend(handles=_keys(dots), loc="outside lower center", ncols=5, handletextpad=0.4, columnspacing=1.4)
    return drawn


def _panel(ax: Axes, dots: Any, title: str) -> None:
    order = list(FACES)
    for (direction, scale), group in dots.groupby(["direction", "scale"], sort=False):
        face, edge = FACES[direction]
        ax.scatter(
            group.published, group.ours, s=SMALLEST + MORE_A_SEED * (group.seeds - 1), marker=MARKERS[scale],
            facecolors=face, edgecolors=edge, linewidths=0.6, zorder=3 - 0.1 * order.index(direction),
        )  # fmt: skip
    ax.set_title(title)
    ax.set_xlabel("published")
    ax.set_ylabel("ours (mean over the seeds)")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _logarithmic(ax: Axes) -> None:
    ax.set(xscale="log", yscale="log")
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    ax.xaxis.set_major_formatter(plain)
    ax.yaxis.set_major_formatter(plain)


def _diagonal(ax: Axes) -> None:
    ax.axline((1, 1), (2, 2), color="0.6", linewidth=0.7, linestyle=":", zorder=0)


def _name_the_farthest(ax: Axes, dots: Any) -> None:
    """The accuracy at the paper's scale that is farthest from the published one."""
    at_paper = dots[dots.scale == "paper"]
    if at_paper.empty:
        return
    dot = at_paper.loc[(at_paper.ours - at_paper.published).abs().idxmax()]
    right = dot.published < 50
    ax.annotate(
        f"{task_name(dot.task)}, {method_name(dot.method)}", (dot.published, dot.ours),
        xytext=(7 if right else -7, -8), textcoords="offset points", ha="left" if right else "right", va="top",
        fontsize=7, color="0.3", arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.5},
    )  # fmt: skip


def _keys(dots: Any) -> list[Line2D]:
    """The legend: outcomes by colour, scales by shape, seeds by size; only what occurs."""
    keys = [
        _key(WORDS.get(name, f"direction {name}"), "o", *faces)
        for name, faces in FACES.items()
        if (dots.direction == name).any()
    ]
    keys += [_key(SCALES[scale], MARKERS[scale], "0.25", "0.25") for scale in dict.fromkeys(dots.scale)]
    counts = dict.fromkeys([int(dots.seeds.min()), int(dots.seeds.max())] if len(dots) else [])
    return keys + [_key(f"{n} seed{'s' if n > 1 else ''}", "o", "none", "0.25", seeds=n) for n in counts]


def _key(label: str, marker: str, face: str, edge: str, *, seeds: int = 4) -> Line2D:
    size = float(np.sqrt(SMALLEST + MORE_A_SEED * (seeds - 1)))
    return Line2D([], [], linestyle="none", marker=marker, markeredgecolor=edge, markerfacecolor=face,
                  markersize=size, markeredgewidth=0.6, label=label)  # fmt: skip


def write(judgements: Sequence[Judgement]) -> Any:
    """paper/generated/dots.pdf, .png and .csv. Returns the points."""
    dots = points(judgements)
    csv = dots.to_csv(index=False)
    write_text(f"{NAME}.csv", csv)
    save(figure(dots), NAME, note=digest(csv))
    return dots


def digest(csv: str) -> str:
    """What a picture says of the numbers it shows."""
    return f"points {hashlib.sha256(csv.encode()).hexdigest()}"


def update_picture(dots: Any) -> str:
    """Put the drawn picture where README.md shows it, if that one shows other numbers; say in a line what was done.

    The numbers are compared and not the bytes: another version of a library may draw the same picture otherwise.
    """
    shown, drawn = paths.root() / README_PICTURE, paths.root() / "paper" / "generated" / f"{NAME}.png"
    if shown.exists() and note_of(shown) == digest(dots.to_csv(index=False)):
        return f"{README_PICTURE}: up to date"
    shown.write_bytes(drawn.read_bytes())
    return f"{README_PICTURE}: drawn anew"


def note_of(picture: Path) -> str | None:
    """The note that was saved with a PNG."""
    with Image.open(picture) as image:
        return image.info.get("Description")
