"""How arithmetic's unstated choices were settled: every candidate's Default rows, and their distance from the paper's.

Letters: s % of sequences right, p % of digits right, loss in nats per digit, all on the fixed sample of held-out pairs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maskprior.analysis.published import METRICS, read_reported
from maskprior.analysis.records import Entry, cells, load_target
from maskprior.config.settings import Settings
from maskprior.runs.spec import Run, make_run, resolve, targets

# Table 2's metrics, by their names on the fixed sample.
SAMPLED = {name: f"sample_{name.removeprefix('test_')}" for name in METRICS["arithmetic"]}
# A name's last part is the scale of the embeddings; of a sum's four digits, `token` has three readings.
READINGS = {"token_last": "token, last four", "token_place": "token, same power"}

Metrics = Mapping[str, float]
Choice = tuple[str, float, float]  # readout, token embedding's std, position embedding's std


@dataclass(frozen=True)
class Candidate:
    """One reading of what the paper leaves open.

    Attributes:
        reading: the readout, and for a sum that is read at tokens, at which ones.
        default, mask, multiplication: metrics of Default and of the mask on addition, and of Default on multiplication,
            on the sample, by the names of Table 2; empty where there is no completed run.
        diverged: the Default run on addition diverged.
    """

    name: str
    reading: str
    choice: Choice
    default: Metrics
    mask: Metrics
    multiplication: Metrics
    diverged: bool

    @property
    def distance(self) -> float:
        """On addition."""
        return distance(self.default, published("addition")) if self.default else math.nan

    @property
    def multiplication_distance(self) -> float:
        return distance(self.multiplication, published("multiplication")) if self.multiplication else math.nan

    @property
    def total(self) -> float:
        """The sum over both tasks, which the rule asks to be smallest; NaN until Default ran on both."""
        return self.distance + self.multiplication_distance


@dataclass(frozen=True)
class Calibration:
    """All candidates, and the name of the one that the configuration has (`frozen`)."""

    candidates: tuple[Candidate, ...]
    frozen: str | None

    @property
    def measured(self) -> int:
        """How many candidates ran on addition."""
        return sum(bool(candidate.default) or candidate.diverged for candidate in self.candidates)

    @property
    def nearest(self) -> Candidate | None:
        """The candidate with the smallest total among those that ran on both tasks."""
        return min((c for c in self.candidates if not math.isnan(c.total)), key=lambda c: c.total, default=None)

    @property
    def state(self) -> str:
        """`decided` when the configuration has the nearest candidate, `contradicted` when it has another.

        `open` while a candidate can still be the nearest: one that did not run on addition, or one that did not run on
        multiplication and whose distance on addition alone is not larger than the smallest total.
        """
        nearest = self.nearest
        if nearest is None or self.measured < len(self.candidates):
            return "open"
        if any(math.isnan(c.total) and c.distance <= nearest.total for c in self.candidates):
            return "open"
        return "decided" if nearest.name == self.frozen else "contradicted"


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
    products = _products(at_paper)
    own = _config(make_run("arithmetic", "addition", "default", scale="paper"))
    found = []
    frozen = None
    for entry in defaults.values():
        name, config = entry.run.variant, _config(entry.run)
        if (_choice(config), config.digit_tokens) == (_choice(own), own.digit_tokens):
            frozen = name
        mask = masks.get(f"mask+{name}")
        found.append(
            Candidate(
                name=name,
                reading=READINGS.get("_".join(name.split("_")[:2]), config.model.readout),
                choice=_choice(config),
                default=_on_sample(entry),
                mask=_on_sample(mask) if mask else {},
                multiplication=products.get(_choice(config), {}),
                diverged=entry.status == "diverged",
            )
        )
    return Calibration(tuple(found), frozen)


def _products(settings: Settings) -> dict[Choice, Metrics]:
    """Default's first seed on multiplication, by what it chose; only what has a record."""
    found: dict[Choice, Metrics] = {}
    for target in ("table2", "table2_pool", "calibration"):
        for entry in _first_seeds(target, settings, task="multiplication").values():
            config = _config(entry.run)
            if entry.run.method == "default" and config.position_scale == 1 and _on_sample(entry):
                found[_choice(config)] = _on_sample(entry)
    return found


def _first_seeds(target: str, settings: Settings, task: str = "addition") -> dict[str, Entry]:
    """method+variant -> the entry of its first seed on the task; empty for a project without that target."""
    entries = load_target(target, settings) if target in targets() else []
    return {method: members[0] for (of, method), members in cells(entries).items() if of == task}


def _config(run: Run) -> Any:
    return resolve(run)


def _choice(config: Any) -> Choice:
    return config.model.readout, config.model.embedding_std, config.model.position_std


def _on_sample(entry: Entry) -> dict[str, float]:
    return {to: entry.metrics[of] for to, of in SAMPLED.items()} if entry.metrics else {}
