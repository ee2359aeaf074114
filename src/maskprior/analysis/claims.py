"""What the records say of each claim: of its value at the paper's scale, of its direction at every scale."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from maskprior import paths
from maskprior.analysis.aggregate import Summary, adjusted, mean_of
from maskprior.analysis.axes import axis_of
from maskprior.analysis.claims_file import Band, Claim, Comparison, read_claims
from maskprior.analysis.decide import NOT_TESTED, Decision, combine, decide_band, decide_direction, decide_value
from maskprior.analysis.measured import difference, diverged, summary
from maskprior.analysis.records import Entry, by_seed, load_cell, reference
from maskprior.config.settings import Settings
from maskprior.errors import UserError
from maskprior.runs.spec import planned_runs

Cells = Mapping[tuple[str, str], Sequence[Entry]]  # (task, method) -> its entries


@dataclass(frozen=True)
class Tested:
    """One test of a direction and its decision. p_adjusted: for all comparisons of the evaluation together."""

    test: Band | Comparison
    decision: Decision
    p_adjusted: float = math.nan

    @property
    def outcome(self) -> str:
        return self.decision.outcome

    @property
    def detail(self) -> str:
        return f"{self.test.name}: {self.decision.detail}"


@dataclass(frozen=True)
class Judgement:
    """What the records of one scale say of a claim.

    Attributes:
        value: agrees, differs, open, 1 seed or not tested; None where it is not asked: below the paper's scale, and of
            a statement.
        direction: holds, contradicted, open, 1 seed or not tested; None where nothing is claimed that has one.
        ours: the published number's counterpart (for a statement: the metric of its first test).
        n, planned, diverged: seeds of the cell that has the fewest of those used.
        detail: one line: each test with its numbers, or what is missing.
        sources: how many of the runs used are published and local; paths: their records.
        inside: for fewer than three seeds at the paper's scale: whether all are within the tolerance of the value.
    """

    claim: Claim
    scale: str
    value: str | None
    direction: str | None
    ours: Summary | None = None
    n: int = 0
    planned: int = 0
    diverged: int = 0
    detail: str = ""
    sources: dict[str, int] = field(default_factory=dict)
    inside: bool | None = None
    tested: tuple[Tested, ...] = ()
    seeds: dict[str, dict[int, float]] = field(default_factory=dict)  # task/method metric -> seed -> value
    paths: tuple[str, ...] = ()


def evaluate(settings: Settings, claims: Sequence[Claim] | None = None) -> list[Judgement]:
    """A judgement per claim (default: all) at the paper's scale, and at the chosen one where it can say something.

    At the chosen scale a claim stands where one of its cells is planned or has a record. The p-values of all
    comparisons are adjusted together.
    """
    found = []
    at_paper = _AtScale(settings.model_copy(update={"scale": "paper"}))
    chosen = None if settings.scale == "paper" else _AtScale(settings)
    for claim in read_claims() if claims is None else claims:
        found.append(judge(claim, at_paper))
        if chosen and claim.tests and chosen.speaks_of(claim):
            found.append(judge(claim, chosen))
    return _adjust(found)


class _AtScale:
    """The cells of one scale, each read once, whatever number of claims use it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._cells: dict[tuple[str, str, str], list[Entry]] = {}
        self._planned = {(r.experiment, r.task, r.method_variant) for r in planned_runs("all", settings)}

    def cell(self, experiment: str, task: str, method: str) -> list[Entry]:
        key = (experiment, task, method)
        if key not in self._cells:
            self._cells[key] = load_cell(*key, self.settings)
        return self._cells[key]

    def of(self, claim: Claim) -> dict[tuple[str, str], list[Entry]]:
        """(task, method) -> entries: every cell that the claim uses; that of its own number first."""
        keys = [(claim.reported.task, claim.reported.method)] if claim.reported else []
        keys += [(test.task, method) for test in claim.tests for method in test.methods]
        return {key: self.cell(claim.experiment, *key) for key in dict.fromkeys(keys)}

    def speaks_of(self, claim: Claim) -> bool:
        """Whether any of the claim's cells is planned at this scale, or has a record."""
        return any(
            (claim.experiment, *key) in self._planned or any(entry.record for entry in entries)
            for key, entries in self.of(claim).items()
        )


def judge(claim: Claim, records: _AtScale) -> Judgement:
    """What the records of one scale say of a claim. Smoke runs prove nothing."""
    scale = records.settings.scale
    used = records.of(claim)
    entries = [entry for members in used.values() for entry in members]
    tested = tuple(Tested(test, _decide(test, used, claim)) for test in claim.tests)
    direction = combine([t.outcome for t in tested if not t.decision.out]) if tested else None
    details = [t.detail for t in tested]
    value, inside = None, None
    if claim.reported and scale == "paper":
        decision = _value(claim, used)
        value, inside = decision.outcome, decision.inside
        details.insert(0, f"value: {decision.detail}")
    if scale == "smoke":
        direction, details = direction and NOT_TESTED, ["smoke runs prove nothing"]
    task, method, metric = _counterpart(claim)
    ours = summary(used[task, method], metric)
    fewest = min(used.values(), key=lambda members: sum(entry.status == "completed" for entry in members))
    return Judgement(
        claim, scale, value, direction, ours,
        n=sum(entry.status == "completed" for entry in fewest),
        planned=len(fewest),
        diverged=sum(diverged(members) for members in used.values()),
        detail="; ".join(details),
        sources=dict(Counter(entry.source for entry in entries if entry.record)),
        inside=inside,
        tested=tested,
        seeds=_seeds(claim, used),
        paths=tuple(sorted(str(entry.resolved.path.relative_to(paths.root())) for entry in entries if entry.record)),
    )  # fmt: skip


def _counterpart(claim: Claim) -> tuple[str, str, str]:
    of = claim.reported or claim.tests[0]
    return of.task, of.method, of.metric


def _seeds(claim: Claim, used: Cells) -> dict[str, dict[int, float]]:
    wanted = [_counterpart(claim)]
    wanted += [(test.task, method, test.metric) for test in claim.tests for method in test.methods]
    return {f"{task}/{method} {metric}": by_seed(used[task, method], metric) for task, method, metric in wanted}


def _value(claim: Claim, used: Cells) -> Decision:
    reported = claim.reported
    assert reported is not None
    entries = used[reported.task, reported.method]
    return decide_value(
        list(by_seed(entries, reported.metric).values()),
        reported.value,
        half_unit=float(reported.half_unit),
        tolerance=claim.tolerances[reported.metric].at(reported.value),
        axis=axis_of(reported.metric),
        diverged=diverged(entries),
    )


def _decide(test: Band | Comparison, used: Cells, claim: Claim) -> Decision:
    cells = [used[test.task, method] for method in test.methods]
    for method, entries in zip(test.methods, cells, strict=True):
        if not any(entry.record for entry in entries):
            return Decision(NOT_TESTED, f"no record of {claim.experiment}/{test.task}/{method}")
        if _prior_was_not_there(test.metric, entries):
            return Decision(NOT_TESTED, f"the prior of {method} was not there", out=True)
    failed = sum(diverged(entries) for entries in cells)
    axis = axis_of(test.metric)
    if isinstance(test, Band):
        values = list(by_seed(cells[0], test.metric).values())
        unit = 1.0 if test.reference is None else reference(cells[0], test.reference)
        if unit is None:
            return Decision(NOT_TESTED, f"no {test.reference} in its records")
        return decide_band(values, test.low * unit, test.high * unit, axis=axis, diverged=failed)
    if test.metric not in claim.tolerances and test.expected == "equal":
        raise UserError(f"config/claims.yaml: tolerances: {test.metric} is missing, but a statement compares it")
    found = difference(cells[0], cells[1], test.metric)
    margin = math.nan
    if test.expected == "equal" and found.n:
        other = mean_of(list(by_seed(cells[1], test.metric).values()), axis)
        margin = claim.tolerances[test.metric].at(other)
        if axis.is_log:
            margin = math.log1p(margin / other)
    return decide_direction(found, test.expected, margin=margin, diverged=failed)


def _prior_was_not_there(metric: str, entries: Sequence[Entry]) -> bool:
    """A test of what is retained has nothing to say of runs that started without the prior."""
    finished = any(entry.status == "completed" for entry in entries)
    return metric.endswith("_retention") and finished and not by_seed(entries, metric)


def _adjust(judgements: Sequence[Judgement]) -> list[Judgement]:
    """The same with adjusted p-values; a comparison that several claims make counts once."""
    ps: dict[tuple[str, ...], float] = {}
    for j in judgements:
        for t in j.tested:
            if math.isfinite(t.decision.p) and j.direction != NOT_TESTED:
                ps[same_test(j, t)] = t.decision.p
    by_key = dict(zip(ps, adjusted(list(ps.values())), strict=True))
    return [
        replace(j, tested=tuple(replace(t, p_adjusted=by_key.get(same_test(j, t), math.nan)) for t in j.tested))
        for j in judgements
    ]


def same_test(judgement: Judgement, tested: Tested) -> tuple[str, ...]:
    """What two claims have in common that make the same test at the same scale."""
    return judgement.scale, judgement.claim.experiment, tested.test.model_dump_json()
