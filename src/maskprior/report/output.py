"""Where notebooks put what the paper includes, and how numbers, names and verdicts are written."""

import math
from collections.abc import Sequence
from pathlib import Path

from maskprior import paths
from maskprior.analysis.aggregate import Difference, Summary
from maskprior.analysis.rows import Row, total_sources
from maskprior.config.settings import Settings
from maskprior.files import write_atomically
from maskprior.runs.spec import titles

METRIC_NAMES = {
    "best_top1": "best top-1",
    "last_top1": "last top-1",
    "val_perplexity": "validation perplexity",
    "val_perplexity_exact": "validation perplexity of the whole text",
    "test_perplexity_exact": "test perplexity of the whole text",
}
# Endings of the metrics that are printed with two decimals: percentages, perplexities as in the paper, and what is left
# of a prior.
LEFT_OF_A_PRIOR = tuple(
    f"{quantity}_{when}"
    for quantity, moments in {
        "gap": ("initial", "final", "retention"),
        "strength": ("initial", "final", "retention"),
        "function": ("best", "final"),
    }.items()
    for when in moments
)
TWO_DECIMALS = ("share", "accuracy", "top1", "perplexity", "perplexity_exact", *LEFT_OF_A_PRIOR)
NOTHING = "--"


def generated(name: str) -> Path:
    """paper/generated/<name>."""
    return paths.root() / "paper" / "generated" / name


def write_text(name: str, text: str) -> Path:
    """Write paper/generated/<name>, ending in a newline."""
    path = generated(name)
    write_atomically(path, (text.rstrip("\n") + "\n").encode())
    return path


def task_name(task: str) -> str:
    return title(task)


def title(name: str) -> str:
    """How a task, a method or a variant is called in tables and figures: its title, or its name without underscores."""
    return titles().get(name) or name.replace("_", " ")


def method_name(method: str) -> str:
    """`mask+sgd` -> `Mask, SGD`."""
    base, _, variant = method.partition("+")
    return f"{title(base)}, {title(variant)}" if variant else title(base)


def metric_name(metric: str) -> str:
    """`test_loss` -> `test loss`."""
    return METRIC_NAMES.get(metric, metric.replace("_", " "))


def decimals(value: float, metric: str) -> int:
    """Digits after the point: two for TWO_DECIMALS; else two significant ones below 0.1, three decimals above."""
    if metric.endswith(TWO_DECIMALS):
        return 2
    if value == 0 or not math.isfinite(value) or abs(value) >= 0.1:
        return 3
    return min(2 - math.floor(math.log10(abs(value))) - 1, 6)


def number(value: float, metric: str, *, digits: int | None = None) -> str:
    """A value as printed, with a true minus sign in LaTeX's math mode; `--` for none."""
    if not math.isfinite(value):
        return NOTHING
    places = decimals(value, metric) if digits is None else digits
    text = f"{value:.{places}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("-", "$-$")


def interval(summary: Summary, metric: str) -> str:
    """`1.219 [1.180, 1.258]` in LaTeX; the mean alone for fewer than three seeds; `--` for none."""
    if summary.n == 0:
        return NOTHING
    places = decimals(summary.mean, metric)
    mean = number(summary.mean, metric, digits=places)
    if not summary.has_interval:
        return mean
    low, high = (number(bound, metric, digits=places) for bound in (summary.low, summary.high))
    return f"{mean} \\ci{{{low}}}{{{high}}}"


def difference_text(difference: Difference, metric: str) -> str:
    r"""`+3.50 [1.20, 5.80]`, of a ratio `$\times$0.28 [0.10, 0.80]`, in LaTeX; `--` for none.

    The mean alone for fewer than three pairs of seeds.
    """
    if difference.n == 0:
        return NOTHING
    if difference.ratio:
        values = [significant(v) for v in (difference.mean, difference.low, difference.high)]
        mean = rf"$\times${values[0]}"
        return rf"{mean} \ci{{{values[1]}}}{{{values[2]}}}" if difference.has_interval else mean
    places = decimals(difference.mean, metric)
    mean, low, high = (number(v, metric, digits=places) for v in (difference.mean, difference.low, difference.high))
    signed = f"+{mean}" if difference.mean > 0 else mean
    return f"{signed} \\ci{{{low}}}{{{high}}}" if difference.has_interval else signed


def significant(value: float) -> str:
    """A ratio with three significant digits, plainly written: `0.00385`, `1.02`, `132`."""
    if not math.isfinite(value) or value <= 0:
        return NOTHING
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"


def seeds(summary: Summary) -> str:
    """`5/5`, and how many diverged where any did: `4/5 (1 diverged)`."""
    text = f"{summary.n}/{summary.planned}"
    return f"{text} ({summary.diverged} diverged)" if summary.diverged else text


def escape(text: str) -> str:
    """Plain text for LaTeX."""
    return "".join({"\\": r"\textbackslash{}"}.get(a, rf"\{a}" if a in "_%&#${}" else a) for a in text)


def note(rows: Sequence[Row], settings: Settings) -> str:
    """From where a table's records come, as one LaTeX line under it."""
    elsewhere = any(row.scale != settings.scale for row in rows)
    paper = r" Rows marked \atpaper{} are at the paper's scale." if elsewhere else ""
    return rf"\tablenote{{Scale: {settings.scale}. Records: {total_sources(rows)}.{paper}}}"
