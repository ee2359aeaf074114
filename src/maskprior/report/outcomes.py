"""How what the records say of a claim is written: in words, and as a mark in a table."""

import math
from typing import Any

from maskprior.analysis.claims import Judgement
from maskprior.analysis.columns import difference_columns
from maskprior.analysis.decide import FEW, NOT_TESTED
from maskprior.analysis.rows import Row

SCALES = {"paper": "the paper's scale", "reduced": "the reduced scale", "smoke": "smoke scale"}


def value_words(judgement: Judgement) -> str:
    """`agrees`; of one or two seeds `1 seed: inside`; empty where the value is not asked."""
    if judgement.value != FEW:
        return judgement.value or ""
    n = judgement.ours.n if judgement.ours else 0
    return f"{n} seed{'s' if n > 1 else ''}: {'inside' if judgement.inside else 'outside'}"


def direction_words(judgement: Judgement) -> str:
    """`holds at the reduced scale`: the scale is always named."""
    return directed(judgement.direction, judgement.scale)


def directed(direction: str | None, scale: str) -> str:
    if direction is None or direction == NOT_TESTED:
        return direction or ""
    return f"{direction} at {SCALES.get(scale, scale)}"


def value_mark(judgement: Judgement | None) -> str:
    r"""`\outcome{agrees}`; a hollow mark for one or two seeds."""
    if judgement is None or not judgement.value:
        return ""
    return rf"\outcome{{{value_words(judgement).replace('2 seeds', '1 seed')}}}"


def direction_mark(judgement: Judgement | None) -> str:
    return rf"\outcome{{{judgement.direction}}}" if judgement and judgement.direction else ""


def cell_columns(row: Row, metric: str) -> dict[str, Any]:
    """What a table's csv says of a cell itself: the published value beside ours with its interval."""
    s = row.measured[metric]
    return {
        "published": row.published.get(metric, ""), "mean": s.mean, "mean_low": s.low,
        "mean_high": s.high, "seeds": s.n, "seeds_planned": s.planned, "diverged": s.diverged,
    }  # fmt: skip


def outcome_columns(row: Row, metric: str) -> dict[str, Any]:
    """What it says of the cell against Default, and of the published number."""
    judgement = row.judged.get(metric)
    against = [t for t in judgement.tested if t.decision.difference] if judgement else []
    p, p_adjusted = (against[0].decision.p, against[0].p_adjusted) if against else (None, math.nan)
    return {
        **difference_columns(row.differences.get(metric), row.scale, p=p, p_adjusted=p_adjusted),
        "value": judgement.value or "" if judgement else "",
        "direction": judgement.direction or "" if judgement else "",
    }
