"""The results in README.md (in short) and docs/results.md (all of them), between their markers, from the records."""

from collections.abc import Sequence
from dataclasses import replace

from maskprior import paths
from maskprior.analysis.aggregate import Summary
from maskprior.analysis.claims import Judgement
from maskprior.analysis.decide import CONTRADICTED
from maskprior.analysis.decide import HOLDS as HELD
from maskprior.analysis.explanations import HOLDS, Judged, judge, read_groups
from maskprior.analysis.headline import by_claim, direction_of
from maskprior.analysis.interventions import load_tasks
from maskprior.analysis.published import METRICS
from maskprior.analysis.records import load_target, sources
from maskprior.analysis.rows import Row, source_text, table_rows, total_sources
from maskprior.config.settings import Settings, read_settings
from maskprior.files import write_atomically
from maskprior.report.boolean_table import smaller_cube
from maskprior.report.claims_table import chance_words, matrix_markdown
from maskprior.report.outcomes import value_words
from maskprior.report.output import NOTHING, decimals, method_name, metric_name, number, seeds, task_name
from maskprior.runs.spec import targets

SHORT, LONG = "README.md", "docs/results.md"
BEGIN, END = "<!-- results: generated from the records -->", "<!-- /results -->"
# The claims that carry the paper's title, in plain words, and how their names end.
CLAIMS = {
    "The mask does better than no prior": "mask-beats-default",
    "The mask does better than the same prior in query and key weights": "mask-beats-query-key",
    "The query-key prior is in the attention map before training": "query-key-prior-was-there",
    "The query-key prior washes out of the map": "query-key-prior-washes-out",
    "The mask's prior persists in the map": "mask-persists-in-the-map",
    "More is left of the mask's prior than of the query-key prior": "mask-is-more-persistent",
}
# What an experiment's losses are, under its table.
EXPLAINED = {
    "boolean": "loss is the mean squared error on the whole domain",
    "vision": "top-1 in percent, the best of all epochs; at the reduced scale on a tenth of CIFAR's train images or 14 "
    "classes of ImageNet-100, at 32 px",
    "language": "perplexity is the paper's estimate on random windows, per token of the scale's own tokenizer",
    "arithmetic": "loss is the cross-entropy per digit in nats on held-out pairs",
}


def answers(judgements: Sequence[Judgement]) -> str:
    """In Markdown: the paper's main claims by experiment, each with its outcome and the scale of its records."""
    found = by_claim(judgements)
    heads = " | ".join(experiment.capitalize() for experiment in EXPLAINED)
    lines = [f"| the paper's claim | {heads} |", "|---" * (1 + len(EXPLAINED)) + "|"]
    for words, name in CLAIMS.items():
        cells = [_answer(claim_of(found, experiment, name)) for experiment in EXPLAINED]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


def claim_of(found: dict[str, list[Judgement]], experiment: str, name: str) -> list[Judgement]:
    """The judgements of an experiment's claim whose name begins so; none where the paper does not claim it there."""
    return next((members for claim, members in found.items() if claim.startswith(f"{experiment}-{name}")), [])


def _answer(members: Sequence[Judgement]) -> str:
    if not members:
        return "not claimed"
    outcome, scale = direction_of(members)
    return f"**{outcome}** ({scale})" if outcome in (HELD, CONTRADICTED) else f"{outcome} ({scale})"


def results(settings: Settings, judgements: Sequence[Judgement]) -> str:
    """In Markdown: the counts by place, explanations of persistence; folded, each experiment's cells, and the costs."""
    lines = [*matrix_markdown(judgements), "", _read_so(judgements), "", *explained(settings)]
    for title, table in tables(settings, judgements):
        lines += _folded(title, table)
    return "\n".join([*lines, *_folded("What the runs of each target took", costs(settings))]).rstrip()


def tables(settings: Settings, judgements: Sequence[Judgement]) -> list[tuple[str, list[str]]]:
    """A title and the lines of a Markdown table for each experiment that has a record."""
    found = []
    for experiment in dict.fromkeys(name for names in targets().values() for name in names):
        rows = [row for row in _rows(experiment, settings, judgements) if row.sources.keys() - {"missing"}]
        if rows:
            title = f"{experiment.capitalize()}: our numbers beside the published ones"
            found.append((title, _table(experiment, rows, settings)))
    return found


def _read_so(judgements: Sequence[Judgement]) -> str:
    return (
        "A number that the paper prints in two tables counts once, with the first. *Value*: could the published number"
        " be one more seed of ours? It is asked at the paper's scale alone. *Direction*: does the method differ from"
        " Default in the published sense? In brackets: how many of these are at the paper's scale; the others are at"
        f" the reduced one. *1 seed*: one or two seeds, which decide nothing. {chance_words(judgements)}"
    )


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""]


def _rows(experiment: str, settings: Settings, judgements: Sequence[Judgement]) -> list[Row]:
    """The rows of all of the experiment's tables, a cell in its first one only."""
    found: dict[tuple[str, str, str], Row] = {}
    for target, experiments in targets().items():
        if target.startswith("table") and experiment in experiments:
            for row in table_rows(f"T{target.removeprefix('table')}", experiment, settings, judgements):
                found.setdefault((row.task, row.method, row.scale), row)
    order = list(dict.fromkeys(task for task, _, _ in found))
    return sorted(found.values(), key=lambda row: order.index(row.task))


def _table(experiment: str, rows: Sequence[Row], settings: Settings) -> list[str]:
    metrics = METRICS[experiment]
    heads = " | ".join(f"{metric_name(metric).removeprefix('test ')}: published | ours" for metric in metrics)
    records = total_sources(_counted(row, settings) for row in rows)
    explained = f"; {EXPLAINED[experiment]}" if experiment in EXPLAINED else ""
    return [
        f"| task | method | scale | {heads} | seeds | value | direction |",
        "|---" * (6 + 2 * len(metrics)) + "|",
        *(_line(row) for row in rows),
        "",
        f"Mean [95 % interval] over the seeds{explained}. Records: {records}.",
    ]


def _counted(row: Row, settings: Settings) -> Row:
    """Runs at the paper's scale are published as they are made: one that is not there is not one that is lost."""
    if row.scale == settings.scale:
        return row
    return replace(row, sources={name: n for name, n in row.sources.items() if name != "missing"})


def explained(settings: Settings) -> list[str]:
    """What the interventions say of each explanation of persistence: a Markdown table, a column per task that ran."""
    tasks = load_tasks(settings)
    entries = {task: [entry for cell in by_cell.values() for entry in cell] for task, by_cell in tasks.items()}
    ran = [task for task in tasks if any(entry.record for entry in entries[task])]
    if not ran:
        return []
    groups = read_groups()
    verdicts = [{found.explanation.id: _verdict(found) for found in judge(groups, tasks[task])} for task in ran]
    columns = [f"{task_name(task)}, {entries[task][0].run.scale}" for task in ran]
    lines = [f"| explanation of persistence | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for explanation in (explanation for group in groups for explanation in group.explanations):
        of_tasks = [verdict.get(explanation.id, "") for verdict in verdicts]
        if any(of_tasks):
            lines.append(f"| {explanation.explanation} | {' | '.join(of_tasks)} |")
    records = source_text(sources(entry for task in ran for entry in entries[task]))
    rest = "In brackets how many of its predictions hold; docs/protocol.md says what each of their cells changes"
    return [*lines, "", f"{rest}. Records: {records}.", ""]


def _verdict(judged: Judged) -> str:
    hold = sum(tested.outcome == HOLDS for tested in judged.tested)
    return f"{judged.verdict} ({hold}/{len(judged.tested)})"


def costs(settings: Settings) -> list[str]:
    """What the runs of each target took to train, from the records there are: a Markdown table."""
    lines = ["| target | scale | runs | training time | a run takes | on |", "|---|---|---|---|---|---|"]
    scales = dict.fromkeys((settings.scale, "paper"))
    for target, scale in ((target, scale) for target in targets() for scale in scales):
        entries = load_target(target, settings.model_copy(update={"scale": scale}))
        environments = [entry.record.environment for entry in entries if entry.record]
        if not environments:
            continue
        seconds = [float(environment["seconds"]) for environment in environments]
        devices = ", ".join(sorted({str(environment.get("device", "")) for environment in environments}))
        total = f"{sum(seconds) / 60:.0f} min" if sum(seconds) >= 60 else f"{sum(seconds):.0f} s"
        longest = f"{min(seconds):.0f} to {max(seconds):.0f} s"
        lines.append(
            f"| `{target}` | {scale} | {len(seconds)}/{len(entries)} | {total} on one core | {longest} | {devices} |"
        )
    return lines


def update(page: str, text: str, settings: Settings) -> str:
    """Put the text into the page, and say what was done. Only evidence goes there: published records, our settings."""
    path = paths.root() / page
    content = path.read_text()
    before, found, rest = content.partition(BEGIN)
    after = rest.partition(END)[2]
    if not found:
        return f"{page}: no markers, left alone"
    if settings != read_settings({"device": settings.device}):
        return f"{page}: left alone, these are not the configured settings"
    if " local" in text or " missing" in text:
        return f"{page}: left alone, not every record is a published one"
    lost = rest.partition(END)[0].count("\n|") - f"\n{text}".count("\n|")
    if lost > 0:
        return f"{page}: left alone, {lost} rows of its tables have no record here"
    new = f"{before}{BEGIN}\n{text}\n{END}{after}"
    if new == content:
        return f"{page}: up to date"
    write_atomically(path, new.encode())
    return f"{page}: results renewed"


def _line(row: Row) -> str:
    metrics = METRICS[row.experiment]
    judged = [row.judged[metric] for metric in metrics if metric in row.judged]
    outcomes = [_joined([value_words(j) for j in judged]), _joined([j.direction or "" for j in judged])]
    smaller = smaller_cube(row) if row.experiment == "boolean" else None
    task = task_name(row.task) if smaller is None else f"{task_name(row.task)} (d = {smaller})"
    values = [part for m in metrics for part in (row.published.get(m, ""), _ours(row.measured[m], m))]
    columns = [task, method_name(row.method), row.scale, *values, seeds(row.measured[metrics[0]]), *outcomes]
    return f"| {' | '.join(columns)} |"


def _joined(outcomes: Sequence[str]) -> str:
    """One outcome where all metrics have the same, else each metric's, in the order of the columns."""
    return " / ".join(outcomes if len(set(outcomes)) > 1 else outcomes[:1])


def _ours(summary: Summary, metric: str) -> str:
    if summary.n == 0:
        return NOTHING
    places = decimals(summary.mean, metric)
    values = [number(v, metric, digits=places).replace("$-$", "−") for v in (summary.mean, summary.low, summary.high)]
    return f"{values[0]} [{values[1]}, {values[2]}]" if summary.has_interval else values[0]
