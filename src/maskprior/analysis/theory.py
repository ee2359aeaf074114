"""Theorem 1's derivatives and Corollary 1's bounds in real trainings, beside what an update really moved.

Letters: S times of a look, U measured updates, L layers, H heads. Only means over layers, heads and seeds are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskprior.analysis.persistence import over_heads
from maskprior.analysis.records import Entry

PARTS = ("query", "key", "mask")

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Sensitivity:
    """How far one attention weight moves with one part, in one cell: means over completed seeds, layers and heads.

    Attributes:
        part: `query`, `key` or `mask`.
        start, end: mean norm of the derivative before and after training.
        start_bound, end_bound: mean of Corollary 1's bound at the same time.
        logit_step: median over the measured updates of the RMS change of the logits that this part's step alone
            makes, nats; queries and keys move together and share one value.
        n, planned: completed and planned seeds.
    """

    task: str
    method: str
    part: str
    start: float
    end: float
    start_bound: float
    end_bound: float
    logit_step: float
    n: int
    planned: int


def curve(entries: Sequence[Entry], name: str) -> tuple[Array, Array]:
    """Steps (S) and the mean of `persistence/<name>` (S) over completed entries; empty where there is none."""
    done = [entry.arrays for entry in entries if entry.status == "completed"]
    if not done:
        return np.array([]), np.array([])
    values = np.stack([over_heads(arrays[f"persistence/{name}"]) for arrays in done])
    return np.asarray(done[0]["persistence/step"], dtype=np.float64), values.mean(0)


def sensitivities(entries: Sequence[Entry]) -> list[Sensitivity]:
    """One row per part of a cell's entries; the mask's only where the method has one."""
    run, found = entries[0].run, []
    done = [entry for entry in entries if entry.status == "completed"]
    for part in PARTS:
        _, actual = curve(entries, f"{part}_sensitivity")
        _, bound = curve(entries, f"{part}_bound")
        if not np.isfinite(actual).any():
            continue
        name = f"persistence/{'mask' if part == 'mask' else 'query_key'}_logit_step"
        steps = [float(np.median(over_heads(entry.arrays[name]))) for entry in done]
        found.append(
            Sensitivity(
                run.task, run.method_variant, part, float(actual[0]), float(actual[-1]), float(bound[0]),
                float(bound[-1]), float(np.mean(steps)), len(done), len(entries),
            )
        )  # fmt: skip
    return found
