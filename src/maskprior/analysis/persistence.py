"""What is left of a prior, at three levels: the parameter, the attention map, the function.

Letters: S sample times of the persistence arrays, L layers, H heads, T points of the trace.
"""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskprior import tasks
from maskprior.datasets import boolean

# A prior is there at the start when the attention map has at least this strength, and the level this alignment.
# Alignment alone cannot say so, for it is blind to strength: a map that differs from a uniform one by a trace of the
# pattern is aligned with it. Among 15 tokens a gap of 2 nats in favour of one makes a strength of 0.3, 1 nat 0.1.
PRESENT = 0.25
# Levels that are alignments (row-centred cosines) with the pattern, and the record's array each is read from.
ALIGNMENTS = {
    "map": "persistence/map_alignment",
    "mask": "persistence/mask_alignment",
    "query_key": "persistence/query_key_alignment",
}

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class HalfLife:
    """When a retention first falls below one half.

    Attributes:
        state: `reached`, `not reached` (never while measured), `never there` (nothing to retain at the start) or
            `undefined` (the quantity is not measured in this experiment).
        step: the crossing, log-linear between the two samples around it; None unless reached.
        after, before: those two samples: the crossing is known no better than that.
    """

    state: str
    step: float | None = None
    after: float | None = None
    before: float | None = None


def alignment(arrays: Mapping[str, Array], level: str) -> Array:
    """c(t) of shape (S): a level's alignment with the pattern, mean over the layers and heads where it is defined."""
    return over_heads(arrays[ALIGNMENTS[level]])


def over_heads(values: Array) -> Array:
    """(S, L, H) -> (S): mean over the layers and heads where the quantity is defined; NaN where it is for none."""
    flat = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    defined = np.isfinite(flat)
    count = defined.sum(axis=1)
    total = np.where(defined, flat, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def strength(arrays: Mapping[str, Array]) -> tuple[float, float]:
    """s at the start and the end: attention on open entries beyond chance, (a - e) / (1 - e), mean over layers, heads.

    a is the share of a row's attention that lies on the row's open entries, e the share of its entries that are open.
    1: all of it, 0: as much as uniform attention has. Shares, because a Hadamard-masked row does not sum to 1.
    """
    found = []
    for index, word in ((0, "initial"), (-1, "final")):
        open_mass = np.asarray(arrays["persistence/open_mass"][index], dtype=np.float64)
        share = open_mass / _row_sums(arrays, word, layers=len(open_mass))
        chance = np.asarray(arrays["persistence/open_fraction"][index], dtype=np.float64)
        found.append(float(over_heads(((share - chance) / (1 - chance))[None])[0]))
    return found[0], found[1]


def _row_sums(arrays: Mapping[str, Array], word: str, *, layers: int) -> Array:
    """Mean sum of a row of the attention map, (L, H); 1 where a record does not keep the maps of all layers.

    Only records of the short sequences do, and only those have a Hadamard form.
    """
    maps = arrays.get(f"maps/attention_{word}", ())
    return np.asarray(maps, dtype=np.float64).sum(-1).mean(-1) if len(maps) == layers else np.ones(1)


def retention(values: Array, strength: float) -> Array:
    """R(t) = c(t) / c(0), shape (S).

    NaN throughout where there is nothing to retain: the map's strength or the level's c is below 0.25 at the start.
    """
    values = np.asarray(values, dtype=np.float64)
    if not (strength >= PRESENT and values[0] >= PRESENT):
        return np.full_like(values, np.nan)
    return values / values[0]


def half_life(steps: Array, retained: Array) -> HalfLife:
    """The first time R(t) < 1/2. Exact for an exponential decay, whatever the sample times."""
    if not np.isfinite(retained[0]):
        return HalfLife("never there")
    below = np.flatnonzero(np.asarray(retained) < 0.5)
    if below.size == 0:
        return HalfLife("not reached")
    i = int(below[0])
    if i == 0:
        return HalfLife("reached", float(steps[0]), float(steps[0]), float(steps[0]))
    (t0, t1), (r0, r1) = (float(steps[i - 1]), float(steps[i])), (float(retained[i - 1]), float(retained[i]))
    share = math.log(r0 / 0.5) / math.log(r0 / r1) if r1 > 0 else (r0 - 0.5) / (r0 - r1)
    return HalfLife("reached", t0 + share * (t1 - t0), t0, t1)


def function_level(arrays: Mapping[str, Array], task: str, dimension: int | None = None) -> tuple[Array, Array]:
    """Steps and F(t), both of shape (T): how much of the target the network says on unseen inputs, 0 to 1.

    F = 1 - sqrt(L / L0), not below 0: L is the mean squared error on unseen inputs, L0 that of a network without the
    prior, the interpolator clipped to the target's range. 1: all unseen inputs exactly right. For arithmetic F is the
    share of held-out results that are right. NaN throughout where neither is traced.
    """
    steps = arrays["trace/step"]
    if dimension is not None and "trace/unseen_loss" in arrays:
        loss = np.asarray(arrays["trace/unseen_loss"], dtype=np.float64)
        return steps, np.maximum(1 - np.sqrt(loss / clipped_interpolator_loss(task, dimension)), 0.0)
    if "trace/sequence_accuracy" in arrays:
        return steps, np.asarray(arrays["trace/sequence_accuracy"], dtype=np.float64) / 100
    return steps, np.full(len(steps), np.nan)


@functools.cache
def clipped_interpolator_loss(task: str, dimension: int) -> float:
    """Mean squared error on a task's unseen inputs of the interpolator clipped to the target's range.

    4 for 2parity, where it answers -1 and the target is 1.
    """
    x = boolean.cube(dimension)
    learned = tasks.find("boolean", task)
    target = learned.target(x)
    unseen = ~learned.seen(x)
    predicted = learned.interpolate(x).clip(target.min(), target.max())
    return float(((predicted - target)[unseen] ** 2).mean())


def function_half_life(steps: Array, level: Array) -> HalfLife:
    """The same question for the function, which starts without the prior: from its best moment on, the last of equals.

    `never there` when F never reaches one half.
    """
    if not np.isfinite(level).any():
        return HalfLife("undefined")
    best = len(level) - 1 - int(np.nanargmax(np.asarray(level)[::-1]))
    if level[best] < 0.5:
        return HalfLife("never there")
    return half_life(np.asarray(steps)[best:], np.asarray(level)[best:] / level[best])


def function_scalars(arrays: Mapping[str, Array], task: str, dimension: int | None = None) -> dict[str, float]:
    """F at its best moment and at the end, as metrics of a run; nothing where it is undefined."""
    level = function_level(arrays, task, dimension)[1]
    if not np.isfinite(level).any():
        return {}
    return {"function_best": float(np.nanmax(level)), "function_final": float(level[-1])}


def gap(arrays: Mapping[str, Array]) -> Array:
    """g(t) of shape (S), nats: mean logit on open minus closed entries, where the prior lives.

    log sigmoid(M) where there is a mask, else the mean query-key logits; mean over layers and heads.
    """
    in_mask = over_heads(arrays["persistence/mask_gap"])
    return in_mask if np.isfinite(in_mask[0]) else over_heads(arrays["persistence/query_key_gap"])


def scalars(arrays: Mapping[str, Array]) -> dict[str, float]:
    """What is left of the prior, as metrics of a run: `<quantity>_initial`, `_final` and their ratio `_retention`.

    Quantities: the alignments of the levels that are defined, `strength` and `gap`; of a causal run also
    `distance_scalars`.
    """
    start, end = strength(arrays)
    found: dict[str, float] = {"strength_initial": start, "strength_final": end}
    found["strength_retention"] = end / start if start >= PRESENT else math.nan
    series = {level: over_heads(arrays[name]) for level, name in ALIGNMENTS.items() if name in arrays}
    for quantity, values in (series | {"gap": gap(arrays)}).items():
        numbers = {"initial": values[0], "final": values[-1], "retention": retention(values, start)[-1]}
        found |= {f"{quantity}_{word}": float(v) for word, v in numbers.items()}
    return {name: value for name, value in found.items() if math.isfinite(value)} | distance_scalars(arrays)


def distance_scalars(arrays: Mapping[str, Array]) -> dict[str, float]:
    """What the profiles over distances of a causal run say, mean over layers and heads, before and after training.

    mask_slope: M of a token itself minus M of the one before it. attention_reach: how far back a row looks, its mean
    distance weighted by its attention, in tokens, mean over the rows.
    """
    found = {}
    for word in ("initial", "final"):
        if (name := f"profile/mask_{word}") in arrays:
            mask = np.asarray(arrays[name], dtype=np.float64)
            found[f"mask_slope_{word}"] = float((mask[..., 0] - mask[..., 1]).mean())
        if (name := f"profile/attention_{word}") in arrays:
            profile = np.asarray(arrays[name], dtype=np.float64).reshape(-1, arrays[name].shape[-1])
            tokens = profile.shape[-1]
            distance = np.arange(tokens)
            # The profile is a mean over the rows that reach so far; their number makes it a sum over rows again.
            found[f"attention_reach_{word}"] = float((profile * (tokens - distance) * distance).sum(1).mean() / tokens)
    return found
