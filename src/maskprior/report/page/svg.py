"""Small drawings for the page, as SVG text: seeds beside a published value, and curves over training.

Colours come from the page's style sheet, so that they follow its light and its dark scheme.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 300, 132
LEFT, RIGHT, TOP, BOTTOM = 40, 8, 8, 20
POINTS = 40  # of a curve; more cannot be told apart at this size


@dataclass(frozen=True)
class Curve:
    """One line: `kind` is its class in the style sheet, steps and values are its points."""

    kind: str
    steps: Sequence[float]
    values: Sequence[float]


def curves(lines: Sequence[Curve], *, log: bool, span: tuple[float, float] | None = None) -> str:
    """Values over training steps (logarithmic, step 0 at the left edge); empty where nothing is finite.

    `log`: the values' axis too. `span`: the lowest and the highest value shown, from the values by default.
    """
    kept = [(line.kind, _thinned(line, log=log)) for line in lines]
    points = [point for _, line in kept for point in line]
    if not points:
        return ""
    last = max(math.log10(1 + step) for step, _ in points) or 1.0
    low, high = span or _padded([value for _, value in points], log=log)

    def place(step: float, value: float) -> str:
        x = LEFT + (WIDTH - LEFT - RIGHT) * math.log10(1 + step) / last
        y = TOP + (HEIGHT - TOP - BOTTOM) * (1 - _share(value, low, high, log=log))
        return f"{x:.0f},{y:.1f}"

    drawn = [f'<polyline class="{kind}" points="{" ".join(place(*p) for p in line)}"/>' for kind, line in kept if line]
    most = round(10**last - 1)
    labels = [
        f'<text x="{LEFT - 4}" y="{TOP + 8}" class="end">{short(high)}</text>',
        f'<text x="{LEFT - 4}" y="{HEIGHT - BOTTOM}" class="end">{short(low)}</text>',
        f'<text x="{LEFT}" y="{HEIGHT - 5}">0</text>',
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 5}" class="end">{most:,} steps</text>',
    ]
    frame = f'<path class="axis" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>'
    return "".join([frame, *drawn, *labels])


def dots(seeds: Sequence[float], published: float | None, interval: tuple[float, float] | None, *, log: bool) -> str:
    """Our seeds as dots, their interval as a bar, the published value as a line, on one axis."""
    values = [*seeds, *([] if published is None else [published]), *(interval or ())]
    values = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    if not values:
        return ""
    low, high = _padded(values, log=log)

    def x(value: float) -> float:
        return 10 + (WIDTH - 20) * _share(value, low, high, log=log)

    drawn = [f'<path class="axis" d="M10 22H{WIDTH - 10}"/>']
    if interval:
        drawn.append(f'<path class="interval" d="M{x(interval[0]):.1f} 22H{x(interval[1]):.1f}"/>')
    drawn += [f'<circle class="seed" cx="{x(value):.1f}" cy="22" r="4.5"/>' for value in seeds if value in values]
    if published is not None:
        drawn.append(f'<path class="published" d="M{x(published):.1f} 8V36"/>')
    ends = [
        f'<text x="10" y="50">{short(low)}</text>',
        f'<text x="{WIDTH - 10}" y="50" class="end">{short(high)}</text>',
    ]
    return "".join([*drawn, *ends])


def short(value: float) -> str:
    """Three significant digits, without an exponent where a reader can do without."""
    if value == 0:
        return "0"
    return f"{value:.3g}" if 1e-3 <= abs(value) < 1e5 else f"{value:.0e}"


def _thinned(line: Curve, *, log: bool) -> list[tuple[float, float]]:
    pairs = zip(line.steps, line.values, strict=True)
    points = [(float(s), float(v)) for s, v in pairs if math.isfinite(v) and (v > 0 or not log)]
    every = max(1, math.ceil(len(points) / POINTS))
    return [*points[:-1:every], *points[-1:]]


def _padded(values: Sequence[float], *, log: bool) -> tuple[float, float]:
    low, high = min(values), max(values)
    if log:
        return (low / 1.15, high * 1.15)
    room = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
    return low - room, high + room


def _share(value: float, low: float, high: float, *, log: bool) -> float:
    """Where a value lies between the ends of its axis, kept within them."""
    if log and value <= 0:
        return 0.0
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return min(max((value - low) / (high - low), 0.0), 1.0)
