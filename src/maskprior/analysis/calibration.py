"""How arithmetic's unstated choices were settled: every candidate's Default row, and its distance from the paper's.

Letters: s % of sequences right, p % of digits right, loss in nats per digit, all on the fixed sample of held-out pairs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maskprior.analysis.published import METRICS, read_reported
from maskprior.analysis.records import Entry, cells, load_cell, load_target
from maskprior.config.settings import Settings
from maskprior.runs.spec import make_run, resolve, targets

TASK = "addition"  # the task that chooses
# Table 2's metrics, by their names on the fixed sample.
SAMPLED = {name: f"sample_{name.removeprefix('test_')}" for name in METRICS["arithmetic"]}

Metrics = Mapping[str, float]


@dataclass(frozen=True)
class Candidate:
    """One reading of what the paper leaves open.

    Attributes:
        default, mask: the runs' metrics on the sample, by the names of Table 2; empty where there is no completed run.
        diverged: the Default run diverged.
    """

    name: str
    readout: str
    embedding_std: float
    position_std: float
    default: Metrics
    mask: Metrics
    diverged: bool

    @property
    def distance(self) -> float:
        return distance(self.default, published(TASK)) if self.default else math.nan


@dataclass(frozen=True)
class Calibration:
    """All candidates, the one that the configuration has (`frozen`), and Default on multiplication at that choice."""

    candidates: tuple[Candidate, ...]
    frozen: str | None
    multiplication: Metrics

    @property
    def measured(self) -> int:
        return sum(bool(candidate.default) or candidate.diverged for candidate in self.candidates)

    @property
    def multiplication_distance(self) -> float:
        return distance(self.multiplication, published("multiplication")) if self.multiplication else math.nan

    @property
    def state(self) -> str:
        """`open` before all candidates ran; `decided` when the configuration has the nearest, else `contradicted`."""
        if not self.candidates or self.measured < len(self.candidates):
            return "open"
        return "decided" if self.nearest and self.nearest.name == self.frozen else "contradicted"

    @property
    def nearest(self) -> Candidate | None:
        """The candidate with the smallest distance among those that ran; the choice once all of them have."""
        return min((c for c in self.candidates if c.default), key=lambda c: c.distance, default=None)


def distance(ours: Metrics, theirs: Metrics) -> float:
    """sqrt(((s - s*)/100)^2 + ((p - p*)/100)^2 + (ln loss - ln loss*)^2); infinite for a loss of zero."""
    percent = sum(((ours[name] - theirs[name]) / 100) ** 2 for name in ("sequence_accuracy", "digit_accuracy"))
    if ours["test_loss"] == 0:
        return math.inf
    return math.sqrt(percent + math.log(ours["test_loss"] / theirs["test_loss"]) ** 2)


def published(task: str) -> dict[str, float]:
    """The paper's Default row of a task."""
    cell = ("arithmetic", task, "default")
    return {r.metric: r.value for r in read_reported() if (r.experiment, r.task, r.method) == cell}


def calibration(settings: Settings) -> Calibration:
    """From the records at the paper's scale, whatever scale is chosen."""
    at_paper = settings.model_copy(update={"scale": "paper"})
    defaults, masks = (_first_seeds(target, at_paper) for target in ("calibration", "sensitivity"))
    found = []
    frozen = None
    own = _model(TASK, "default")
    for method, entry in defaults.items():
        name, model = entry.run.variant, _model(TASK, method)
        choice = (model.readout, model.embedding_std, model.position_std)
        if choice == (own.readout, own.embedding_std, own.position_std):
            frozen = name
        mask = masks.get(f"mask+{name}")
        found.append(
            Candidate(name, *choice, _on_sample(entry), _on_sample(mask) if mask else {}, entry.status == "diverged")
        )
    (first, *_) = load_cell("arithmetic", "multiplication", "default", at_paper)
    return Calibration(tuple(found), frozen, _on_sample(first))


def _first_seeds(target: str, settings: Settings) -> dict[str, Entry]:
    """method+variant -> the entry of its first seed; empty for a project without that target."""
    entries = load_target(target, settings) if target in targets() else []
    return {method: members[0] for (_, method), members in cells(entries).items()}


def _model(task: str, method: str) -> Any:
    config: Any = resolve(make_run("arithmetic", task, method, scale="paper"))
    return config.model


def _on_sample(entry: Entry) -> dict[str, float]:
    return {to: entry.metrics[of] for to, of in SAMPLED.items()} if entry.metrics else {}
