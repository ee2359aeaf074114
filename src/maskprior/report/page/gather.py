"""What the page shows, put together from judgements and records; every number in it has been computed elsewhere."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from maskprior.analysis import persistence
from maskprior.analysis.axes import axis_of
from maskprior.analysis.claims import Judgement
from maskprior.analysis.claims_file import Claim as Stated
from maskprior.analysis.claims_file import Comparison
from maskprior.analysis.decide import CONTRADICTED, FEW, HOLDS, NOT_TESTED, OPEN
from maskprior.analysis.headline import NUMBERS, by_claim, direction_of, matrix
from maskprior.analysis.records import Entry, load_target
from maskprior.config.settings import Settings
from maskprior.report.outcomes import SCALES, value_words
from maskprior.report.output import decimals, method_name, metric_name, task_name
from maskprior.report.page import svg
from maskprior.report.page.svg import Curve
from maskprior.report.readme import CLAIMS, EXPLAINED, claim_of
from maskprior.runs.record import Record
from maskprior.runs.spec import Run, make_run, resolve

LEARNING = ("trace/test_loss", "trace/val_loss")
NAMES = {"boolean": "Boolean functions", "arithmetic": "arithmetic", "vision": "images", "language": "language"}


@dataclass(frozen=True)
class Cell:
    """One entry of a table at a scale: its runs, their curves and what is special in their configuration."""

    entries: tuple[Entry, ...]
    default: tuple[Entry, ...] = field(default=())

    @property
    def run(self) -> Run:
        return self.entries[0].run

    @property
    def title(self) -> str:
        return f"{task_name(self.run.task)}, {method_name(self.run.method_variant)}"

    @property
    def scale(self) -> str:
        return SCALES[self.run.scale]

    @property
    def recorded(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.record]

    @cached_property
    def learning(self) -> str:
        """Test or validation loss over training, a line a seed; grey: Default."""
        lines = [*_lines(self.default, LEARNING, "other"), *_lines(self.recorded, LEARNING, "own")]
        return svg.curves(lines, log=True)

    @cached_property
    def persistence(self) -> str:
        """Alignment of the attention map with the pattern over training, a line a seed."""
        drawn = []
        for entry in self.recorded:
            if "persistence/map_alignment" in entry.arrays:
                values = persistence.alignment(entry.arrays, "map")
                drawn.append(Curve("own", entry.arrays["persistence/step"].tolist(), values.tolist()))
        return svg.curves(drawn, log=False, span=(-0.1, 1.0))

    @property
    def differs(self) -> list[str]:
        """What its configuration has that Default's has not, `optimizer.lr = 0.01`."""
        default = make_run(self.run.experiment, self.run.task, "default", scale=self.run.scale)
        own, other = (_flat(resolve(run).model_dump()) for run in (self.run, default))
        return [f"{key} = {value}" for key, value in own.items() if other.get(key) != value and key != "method"]

    def command(self, verb: str, entry: Entry) -> str:
        run = entry.run
        words = f"{run.experiment} {run.task} {run.method_variant} --seed {run.seed} --scale {run.scale}"
        return f"maskprior {verb} {words}"


@dataclass(frozen=True)
class Claim:
    """A claim with what the records of each scale say of it, the paper's scale first."""

    members: tuple[Judgement, ...]

    @property
    def claim(self) -> Stated:
        return self.members[0].claim

    @property
    def id(self) -> str:
        return self.claim.id

    @property
    def shown(self) -> Judgement:
        """What the row's own columns are of: the judgement that gives its direction, else the first with seeds."""
        direction, scale = direction_of(self.members)
        for judgement in self.members:
            if direction and judgement.scale == scale:
                return judgement
        return next((j for j in self.members if j.ours and j.ours.n), self.members[0])

    @property
    def direction(self) -> str:
        return direction_of(self.members)[0] or ""

    @property
    def value(self) -> str:
        return next((value_words(j) for j in self.members if j.value), "")

    @property
    def published(self) -> str:
        return self.claim.reported.digits if self.claim.reported else ""

    @property
    def ours(self) -> str:
        summary = self.shown.ours
        if summary is None or not summary.n or not self.claim.reported:
            return ""
        return f"{summary.mean:.{decimals(summary.mean, self.claim.reported.metric)}f}"

    @property
    def experiment(self) -> str:
        return self.claim.experiment

    @property
    def words(self) -> str:
        """What a search looks at."""
        cells = [name for j in self.members for name in j.seeds]
        return " ".join([self.id, self.claim.place, self.claim.statement, self.label, *cells]).lower()

    @property
    def label(self) -> str:
        """The claim in the list: of a number what it is of, else the statement."""
        reported = self.claim.reported
        if reported is None:
            return self.claim.statement
        return f"{task_name(reported.task)}, {method_name(reported.method)}: {metric_name(reported.metric)}"

    @property
    def sentence(self) -> str:
        """What the paper says, in a sentence."""
        reported = self.claim.reported
        if reported is None:
            return self.claim.statement
        unit = UNITS.get(reported.unit, "")
        of = f"{metric_name(reported.metric)} of {method_name(reported.method)} on {task_name(reported.task)}"
        again = " An earlier table prints this cell too." if self.claim.again else ""
        return f"{self.claim.place} prints {reported.digits}{unit} as the {of}.{again}"

    def own_cell(self, judgement: Judgement) -> str:
        """The key of the cell that the published number is of; empty for a statement."""
        reported = self.claim.reported
        if reported is None:
            return ""
        return cell_key(make_run(self.experiment, reported.task, reported.method, scale=judgement.scale))

    def dots(self, judgement: Judgement) -> str:
        reported, ours = self.claim.reported, judgement.ours
        if reported is None or ours is None or not ours.n:
            return ""
        name = f"{reported.task}/{reported.method} {reported.metric}"
        seeds = list(judgement.seeds.get(name, {}).values())
        interval = (ours.low, ours.high) if ours.has_interval else None
        return svg.dots(seeds, reported.value, interval, log=axis_of(reported.metric).is_log)

    def cells(self, judgement: Judgement) -> list[tuple[str, str]]:
        """Key and name of each cell that the judgement rests on."""
        found: dict[str, str] = {}
        for name in judgement.seeds:
            task, _, method = name.partition(" ")[0].partition("/")
            run = make_run(self.experiment, task, method, scale=judgement.scale)
            found[cell_key(run)] = f"{task_name(task)}, {method_name(method)}"
        return list(found.items())

    def tests(self, judgement: Judgement) -> list[tuple[str, str, str]]:
        """Each test in words, its outcome, and its numbers."""
        found = []
        for tested in judgement.tested:
            test = tested.test
            of = f"{task_name(test.task)}: {metric_name(test.metric)} of {method_name(test.method)}"
            if isinstance(test, Comparison):
                words = f"{of} {EXPECTED[test.expected]} {method_name(test.than)}"
            else:
                words = f"{of} {between(test.low, test.high)}"
            found.append((words, tested.outcome, tested.decision.detail))
        return found


UNITS = {"percent": " percent"}
EXPECTED = {"less": "below that of", "greater": "above that of", "equal": "equal to that of"}


def between(low: float, high: float) -> str:
    """`at least 0.5`, `at most 3`, `between 1 and 2`."""
    if math.isinf(high):
        return f"at least {low:g}"
    return f"at most {high:g}" if math.isinf(low) else f"between {low:g} and {high:g}"


def cell_key(run: Run) -> str:
    return f"{run.scale}-{run.experiment}-{run.task}-{run.method_variant}".replace("+", "-")


def claims(judgements: Sequence[Judgement]) -> list[Claim]:
    return [Claim(tuple(members)) for members in by_claim(judgements).values()]


def cells(settings: Settings) -> dict[str, Cell]:
    """Every cell that has a record, by its key."""
    gathered: dict[str, list[Entry]] = {}
    for scale in dict.fromkeys((settings.scale, "paper")):
        for entry in load_target("all", settings.model_copy(update={"scale": scale})):
            gathered.setdefault(cell_key(entry.run), []).append(entry)
    known = {key: tuple(entries) for key, entries in gathered.items() if any(entry.record for entry in entries)}
    return {key: Cell(entries, _default_of(entries[0].run, known)) for key, entries in known.items()}


def _default_of(run: Run, known: Mapping[str, tuple[Entry, ...]]) -> tuple[Entry, ...]:
    if run.method_variant == "default":
        return ()
    default = make_run(run.experiment, run.task, "default", scale=run.scale)
    return known.get(cell_key(default), ())


def sentences(judgements: Sequence[Judgement]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """The paper's main claims, each with its outcome by experiment: (outcome, where, the claim's id)."""
    found = by_claim(judgements)
    told = []
    for words, name in CLAIMS.items():
        outcomes = []
        for experiment in EXPLAINED:
            if members := claim_of(found, experiment, name):
                outcome, scale = direction_of(members)
                outcomes.append((outcome or NOT_TESTED, f"{NAMES[experiment]} ({scale})", members[0].claim.id))
        told.append((words, outcomes))
    return told


def in_short(judgements: Sequence[Judgement]) -> str:
    """How the distinct numbers came out, in three sentences."""
    numbers = next(counts for counts in matrix(judgements) if counts.place == NUMBERS)
    d, v = numbers.direction, numbers.value
    return (
        f"The paper prints {numbers.claims} distinct numbers. Of their directions {d[HOLDS]} hold, {d[CONTRADICTED]}"
        f" are contradicted and {d[OPEN]} are open. Of their values {v['agrees']} agree, {v['differs']} differ and"
        f" {v[OPEN]} are open at the paper's scale; {v[FEW]} more have only one or two seeds there, which decide"
        " nothing."
    )


def kind_of(outcome: str) -> str:
    """The class of an outcome in the style sheet."""
    for kind, names in {"good": (HOLDS, "agrees"), "bad": (CONTRADICTED, "differs"), "unsure": (OPEN,)}.items():
        if outcome in names:
            return kind
    return "few" if FEW in outcome or "seeds" in outcome else "none"


def _lines(entries: Iterable[Entry], names: Sequence[str], kind: str) -> list[Curve]:
    found = []
    for entry in entries:
        name = next((name for name in names if name in entry.arrays), None)
        if name is not None:
            found.append(Curve(kind, entry.arrays["trace/step"].tolist(), entry.arrays[name].tolist()))
    return found


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = json.dumps(value)
    return found


def device(record: Record) -> str:
    """What a record was trained on, in words."""
    environment = record.environment
    return f"{environment.get('device', 'unknown')} ({environment.get('instruction_set', 'unknown')})"
