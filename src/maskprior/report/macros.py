r"""Every number in the paper's text as a LaTeX macro.

paper/generated/macros.tex holds lines `\setresult{key}{value}`; the text says `\result{key}`, and a key that is not
there stops LaTeX. Keys:
    <cell>/n, <cell>/<metric>/{value,mean,interval,median}   cell = experiment/task/method; value = mean and interval
    difference/<cell>/<metric>/{mean,interval,t,sign}     the method minus Default, paired by seed; of losses and
                                                          perplexities the method over Default
    paper/<cell>/…, difference/paper/<cell>/…             the same at the paper's scale, for cells of AT_PAPER
    config/<cell>/<dotted key>                            the run's configuration at the chosen scale
    config/paper/<cell>/<dotted key>                      the same at the paper's scale
    counts/{all,numbers,statements,table-1,…}/{claims,not-tested,value/<outcome>,direction/<outcome>,at-paper/<outcome>}
    chance/{comparisons,significant,by-chance,adjusted}   what chance alone would give
    calibration/{candidates,measured,state,nearest,…}     how arithmetic's unstated choices were settled
    published/<claim id>, value/<claim id>, direction/<claim id>, settings/{scale,seeds,confidence}
    records/{all,published,local,missing,diverged}        at the chosen scale
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

from maskprior.analysis.aggregate import CONFIDENCE
from maskprior.analysis.calibration import calibration
from maskprior.analysis.claims import Judgement
from maskprior.analysis.headline import by_claim, direction_of, expectation, matrix
from maskprior.analysis.measured import difference, summary
from maskprior.analysis.published import METRICS
from maskprior.analysis.records import Entry, cells, sources
from maskprior.config.base import Scale
from maskprior.config.settings import Settings
from maskprior.report.calibration_table import calibration_macros
from maskprior.report.outcomes import directed, value_words
from maskprior.report.output import LEFT_OF_A_PRIOR, NOTHING, decimals, interval, number, seeds, significant
from maskprior.runs.spec import make_run, planned_runs, resolve, targets
from maskprior.runs.store import Resolved, folder

# What the text speaks of, defined also before any run is there: of every experiment, and of one.
PRIOR = (
    *("map_initial", "map_final", "map_retention", "mask_final"),
    *("init_fidelity_open_mass", "init_fidelity_open_mass_chance"),
    *LEFT_OF_A_PRIOR,
)
MORE = {
    "boolean": [
        *(f"{part}_{what}" for part in ("test", "seen", "unseen") for what in ("loss", "accuracy", "sign_accuracy")),
        "unseen_mean_prediction",
    ],
    "arithmetic": ["seen_sequence_accuracy", "seen_digit_accuracy", "seen_loss"],
    "vision": ["last_top1", "test_loss", *(f"mask_{n}{s}" for n in ("open", "closed") for s in ("", "_decay_only"))],
    "language": [
        *("val_perplexity_exact", "test_perplexity_exact", "val_bits_per_byte", "test_bits_per_byte"),
        *("mask_slope_initial", "mask_slope_final", "attention_reach_initial", "attention_reach_final"),
    ],
}
# The targets whose text speaks of runs at the paper's scale, whatever scale is chosen.
AT_PAPER = ("table1", "table2", "table2_pool", "table4")


def macros(
    entries: Sequence[Entry], judgements: Sequence[Judgement], settings: Settings, *, at_paper: Sequence[Entry] = ()
) -> dict[str, str]:
    """Key -> value, as LaTeX. `entries`: every planned run at the chosen scale; `at_paper`: at the paper's."""
    found = {
        "settings/scale": settings.scale,
        "settings/seeds": str(settings.seeds),
        "settings/confidence": f"{100 * CONFIDENCE:.0f}",
    }
    found |= {
        f"records/{name}": str(n) for name, n in ({"published": 0, "local": 0, "missing": 0} | sources(entries)).items()
    }
    found |= {"records/all": str(len(entries)), "records/diverged": str(sum(e.status == "diverged" for e in entries))}
    # The text speaks of cells that are planned at another scale only, too.
    cells_spoken_of = [*entries, *_unplanned(entries, settings)]
    found |= dict(_results(cells_spoken_of))
    paper = settings.model_copy(update={"scale": "paper"})
    spoken_of_at_paper = {run for target in AT_PAPER if target in targets() for run in planned_runs(target, paper)}
    of_paper = [entry for entry in at_paper if entry.run in spoken_of_at_paper]
    found |= dict(_results(of_paper, "paper/"))
    found |= dict(_configurations(of_paper, "paper", "config/paper"))
    found |= dict(_configurations(cells_spoken_of, settings.scale, "config"))
    found |= dict(_configurations(cells_spoken_of, "paper", "config/paper"))
    found |= dict(_outcomes(judgements))
    found |= dict(calibration_macros(calibration(settings)))
    return found


def latex(found: dict[str, str]) -> str:
    return "\n".join(rf"\setresult{{{key}}}{{{value}}}" for key, value in sorted(found.items()))


def spoken_of(experiment: str, entries: Sequence[Entry]) -> list[str]:
    """Every metric that any run of the experiment has or that the text may name: a cell without runs says so."""
    measured = {metric for entry in entries if entry.run.experiment == experiment for metric in entry.metrics}
    return sorted({*measured, *METRICS[experiment], *MORE.get(experiment, ()), *PRIOR})


def _few(n: int) -> str:
    """What stands in the place of an interval where there are too few seeds for one."""
    return {0: NOTHING, 1: "(1 seed)"}.get(n, f"({n} seeds)")


def _unplanned(entries: Sequence[Entry], settings: Settings) -> list[Entry]:
    """The cells that are planned at another scale and not at the chosen one, as missing there."""
    planned = cells(entries)
    elsewhere = [settings.model_copy(update={"scale": scale}) for scale in get_args(Scale) if scale != settings.scale]
    runs = dict.fromkeys(replace(run, scale=settings.scale) for at in elsewhere for run in planned_runs("all", at))
    return [
        Entry(Resolved(run, folder(run, "local"), "missing"), None)
        for run in runs
        if (run.task, run.method_variant) not in planned
    ]


def _results(entries: Sequence[Entry], prefix: str = "") -> Iterator[tuple[str, str]]:
    by_cell = cells(entries)
    metrics_of = {name: spoken_of(name, entries) for name in {entry.run.experiment for entry in entries}}
    for (task, method), members in by_cell.items():
        experiment = members[0].run.experiment
        metrics = metrics_of[experiment]
        key = f"{prefix}{experiment}/{task}/{method}"
        for name, value in members[0].reference.items():
            yield f"{prefix}{experiment}/{task}/{name}", number(value, name)
        yield f"{key}/n", seeds(summary(members, METRICS[experiment][0]))
        for metric in metrics:
            s = summary(members, metric)
            places = decimals(s.mean, metric)
            yield f"{key}/{metric}/value", interval(s, metric)
            yield f"{key}/{metric}/mean", number(s.mean, metric)
            yield f"{key}/{metric}/median", number(s.median, metric, digits=places)
            bounds = f"[{number(s.low, metric, digits=places)}, {number(s.high, metric, digits=places)}]"
            yield f"{key}/{metric}/interval", bounds if s.has_interval else _few(s.n)
        default = by_cell.get((task, "default"))
        if default is None or method == "default":
            continue
        for metric in metrics:
            d = difference(members, default, metric)
            key = f"difference/{prefix}{experiment}/{task}/{method}/{metric}"
            places = decimals(d.mean, metric)
            mean, low, high = (
                significant(v) if d.ratio else number(v, metric, digits=places) for v in (d.mean, d.low, d.high)
            )
            yield f"{key}/mean", mean
            yield f"{key}/interval", f"[{low}, {high}]" if d.has_interval else _few(d.n)
            yield f"{key}/t", number(d.p, "p") if d.has_interval else NOTHING
            yield f"{key}/sign", number(d.sign_p, "p") if d.has_interval else NOTHING


def _configurations(entries: Sequence[Entry], scale: str, prefix: str) -> Iterator[tuple[str, str]]:
    for (task, method), members in cells(entries).items():
        experiment = members[0].run.experiment
        config = resolve(make_run(experiment, task, method, scale=scale))
        for name, value in _flat(config.model_dump()):
            yield f"{prefix}/{experiment}/{task}/{method}/{name}", value


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, bool) or value is None:
            yield f"{prefix}{name}", str(value).lower()
        elif isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
            yield f"{prefix}{name}", f"{int(value):,}".replace(",", r"\,")
        elif isinstance(value, float):
            yield f"{prefix}{name}", f"{value:g}"
        else:
            yield f"{prefix}{name}", str(value).replace("_", r"\_")


def _outcomes(judgements: Sequence[Judgement]) -> Iterator[tuple[str, str]]:
    for name, members in by_claim(judgements).items():
        reported = members[0].claim.reported
        yield f"direction/{name}", directed(*direction_of(members))
        if reported:
            yield f"published/{name}", reported.digits
            yield f"value/{name}", next((words for j in members if (words := value_words(j))), "")
    for counts in matrix(judgements):
        key = f"counts/{counts.place.removeprefix('all ').lower().replace(' ', '-')}"
        yield f"{key}/claims", str(counts.claims)
        yield f"{key}/not-tested", str(counts.not_tested)
        for kind, found in (("value", counts.value), ("direction", counts.direction), ("at-paper", counts.at_paper)):
            for outcome, n in found.items():
                yield f"{key}/{kind}/{outcome.replace(' ', '-')}", str(n)
    chance = expectation(judgements)
    yield "chance/comparisons", str(chance.comparisons)
    yield "chance/significant", str(chance.significant)
    yield "chance/by-chance", f"{chance.by_chance:.1f}"
    yield "chance/adjusted", str(chance.adjusted)
