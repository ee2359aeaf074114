"""The results table of README.md, between its markers, from the records."""

from collections.abc import Sequence

from maskprior import paths
from maskprior.analysis.aggregate import Summary
from maskprior.analysis.boolean_table import METRICS, Row, boolean_rows, smaller_cube
from maskprior.analysis.claims import Verdict, count
from maskprior.analysis.output import NOTHING, decimals, method_name, number, seeds, task_name
from maskprior.analysis.records import load_target
from maskprior.config.settings import Settings, read_settings
from maskprior.files import write_atomically
from maskprior.runs.spec import targets

BEGIN, END = "<!-- results: generated from the records -->", "<!-- /results -->"


def results(settings: Settings, verdicts: Sequence[Verdict]) -> str:
    """Every Boolean cell in Markdown: published, ours with interval, seeds, verdicts; then the count of verdicts."""
    rows = boolean_rows("T1", settings, verdicts)
    known = {(row.task, row.method, row.scale) for row in rows}
    more = boolean_rows("T4", settings, verdicts)
    rows += [row for row in more if (row.task, row.method, row.scale) not in known]
    order = list(dict.fromkeys(row.task for row in rows))
    lines = [
        "| task | method | scale | loss: published | ours | accuracy: published | ours | seeds | verdict |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_line(row) for row in sorted(rows, key=lambda row: order.index(row.task))),
        "",
        f"Mean [95 % interval] over the seeds; loss is the mean squared error on the whole domain. {_from(rows)}",
        "",
        "Of the paper's "
        + f"{sum(v.claim.reported is not None for v in verdicts)} numbers: "
        + ", ".join(f"{n} {name}" for name, n in count([v for v in verdicts if v.claim.reported]).items())
        + ".",
        "",
        *costs(settings),
    ]
    return "\n".join(lines)


def costs(settings: Settings) -> list[str]:
    """What the runs of each target took to train, from the records: a Markdown table."""
    lines = ["| target | runs | training time | a run takes | on |", "|---|---|---|---|---|"]
    for target in targets():
        entries = load_target(target, settings)
        environments = [entry.record.environment for entry in entries if entry.record]
        if not environments:
            continue
        seconds = [float(environment["seconds"]) for environment in environments]
        devices = ", ".join(sorted({str(environment.get("device", "")) for environment in environments}))
        total = f"{sum(seconds) / 60:.0f} min" if sum(seconds) >= 60 else f"{sum(seconds):.0f} s"
        longest = f"{min(seconds):.0f} to {max(seconds):.0f} s"
        lines.append(f"| `{target}` | {len(entries)} | {total} on one core | {longest} | {devices} |")
    return lines


def update(text: str, settings: Settings) -> str:
    """Put the table into README.md and say what was done. Only evidence goes there: published records, our settings."""
    path = paths.root() / "README.md"
    content = path.read_text()
    before, found, rest = content.partition(BEGIN)
    after = rest.partition(END)[2]
    if not found:
        return "README.md: no markers, left alone"
    if settings != read_settings({"device": settings.device}):
        return "README.md: left alone, these are not the configured settings"
    if " local" in text or " missing" in text:
        return "README.md: left alone, not every record is a published one"
    new = f"{before}{BEGIN}\n{text}\n{END}{after}"
    if new == content:
        return "README.md: up to date"
    write_atomically(path, new.encode())
    return "README.md: results table renewed"


def _line(row: Row) -> str:
    loss, accuracy = (row.measured[metric] for metric in METRICS)
    verdicts = " / ".join(dict.fromkeys(row.verdicts[metric] for metric in METRICS if metric in row.verdicts))
    smaller = smaller_cube(row)
    task = task_name(row.task) if smaller is None else f"{task_name(row.task)} (d = {smaller})"
    columns = [
        task, method_name(row.method), row.scale, row.published.get("test_loss", ""),
        _ours(loss, "test_loss"), row.published.get("test_accuracy", ""), _ours(accuracy, "test_accuracy"),
        seeds(loss), verdicts,
    ]  # fmt: skip
    return f"| {' | '.join(columns)} |"


def _ours(summary: Summary, metric: str) -> str:
    if summary.n == 0:
        return NOTHING
    places = decimals(summary.mean, metric)
    values = [number(v, metric, digits=places).replace("$-$", "−") for v in (summary.mean, summary.low, summary.high)]
    return f"{values[0]} [{values[1]}, {values[2]}]" if summary.has_interval else values[0]


def _from(rows: Sequence[Row]) -> str:
    total = dict.fromkeys(("published", "local", "missing"), 0)
    for row in rows:
        for name, n in row.sources.items():
            total[name] += n
    return "Records: " + ", ".join(f"{n} {name}" for name, n in total.items() if n) + "."
