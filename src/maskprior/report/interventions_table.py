"""Interventions: what one change of the configuration does to the prior at its three levels, as a table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from maskprior.analysis.explanations import LEFT, Group, Judged
from maskprior.analysis.interventions import Cells, grouped, reach
from maskprior.analysis.measured import summary
from maskprior.analysis.published import METRICS
from maskprior.analysis.records import Entry
from maskprior.report.output import escape, interval, method_name, number, seeds, task_name
from maskprior.runs.spec import Run, make_run, resolve

# The table's columns per level: at the start (function: at its best) and at the end.
LEVELS = ("gap_initial", "gap_final", "strength_initial", "strength_final", "function_best", "function_final")
# The configuration's keys in words; others speak for themselves.
KEYS = {
    "optimizer.name": "optimiser",
    "optimizer.lr": "rate",
    "optimizer.mask_weight_decay": "decay of M",
    "optimizer.mask_lr_multiplier": "rate of M, factor",
    "optimizer.query_key_lr_multiplier": "rate of QK, factor",
    "model.position_std": "position std",
    "model.embedding_std": "embedding std",
    "model.readout": "readout",
    "mask.amplitude": "amplitude",
    "mask.form": "form",
}


def changes(experiment: str, task: str, cell: str, scale: str) -> str:
    """What a variant changes in the configuration, in words: `rate of M, factor 1 → 10`; empty for a plain method."""
    method, _, variant = cell.partition("+")
    if not variant:
        return ""
    old, new = (
        dict(_flat(resolve(make_run(experiment, task, name, scale=scale)).model_dump())) for name in (method, cell)
    )
    texts = [f"{KEYS.get(key, _words(key))} {old[key]} → {new[key]}" for key in old if old[key] != new[key]]
    return ", ".join(texts)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", f"{value:g}" if isinstance(value, float) else str(value)


def _words(key: str) -> str:
    return key.rpartition(".")[2].replace("_", " ")


def _reach(run: Run) -> str:
    config: Any = resolve(run)
    return number(reach(config.optimizer), "nats", digits=1) if run.method in ("mask", "mask_zero") else ""


def interventions_latex(groups: Sequence[Group], by_cell: Cells) -> str:
    """A row per cell of one task: what it changes; per level the start (function: the best moment) and the end."""
    lines = [
        r"\begin{tabular}{@{}llrrrrrrrlr@{}}",
        r"\toprule",
        r" & & \multicolumn{3}{c}{parameter} & \multicolumn{2}{c}{attention map} & \multicolumn{2}{c}{function} & & \\",
        r" & & \multicolumn{2}{c}{gap, nats} & reach & \multicolumn{2}{c}{strength} & \multicolumn{2}{c}{$F$} & & \\",
        r"\cmidrule(lr){3-5}\cmidrule(lr){6-7}\cmidrule(lr){8-9}",
        r"method & change & start & end & of M & start & end & best & end & accuracy & seeds \\",
    ]
    for group, members in grouped(groups, by_cell).items():
        lines += [r"\midrule", rf"\multicolumn{{11}}{{@{{}}l}}{{\emph{{{escape(group)}}}}} \\"]
        lines += [_line(cell, by_cell[cell]) for cell in members]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _line(cell: str, entries: Sequence[Entry]) -> str:
    run = entries[0].run
    name = _accuracy(run.experiment)
    accuracy = summary(entries, name)
    values = [number(summary(entries, metric).mean, metric) for metric in LEVELS]
    columns = [
        method_name(run.method),
        escape(changes(run.experiment, run.task, cell, run.scale)).replace("→", r"$\to$"),
        *values[:2],
        _reach(run),
        *values[2:],
        interval(accuracy, name),
        seeds(accuracy),
    ]
    return " & ".join(columns) + r" \\"


def _accuracy(experiment: str) -> str:
    """The first accuracy the paper prints of an experiment, else the first metric."""
    metrics = METRICS[experiment]
    return next((metric for metric in metrics if metric.endswith("accuracy")), metrics[0])


def interventions_frame(by_cell: Cells) -> Any:
    """One row per cell and metric of the table, in full precision."""
    import pandas as pd

    rows = []
    for cell, entries in by_cell.items():
        run = entries[0].run
        for metric in dict.fromkeys((*LEVELS, *LEFT.values(), _accuracy(run.experiment))):
            s = summary(entries, metric)
            rows.append(
                {
                    "experiment": run.experiment, "task": run.task, "cell": cell, "metric": metric, "mean": s.mean,
                    "low": s.low, "high": s.high, "n": s.n, "planned": s.planned, "diverged": s.diverged,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def floats(command: str, tables: Mapping[str, str], tasks: Mapping[str, Cells]) -> str:
    r"""`\\<command>{name of the task}{task}{scale}{table}` for each task: the paper makes one float of each."""
    found = []
    for task, table in tables.items():
        scale = next(iter(tasks[task].values()))[0].run.scale
        found.append(f"\\{command}{{{escape(task_name(task))}}}{{{task}}}{{{scale}}}{{%\n{table}}}")
    return "\n\n".join(found)


def interventions_macros(judged: Mapping[str, Sequence[Judged]], tasks: Mapping[str, Cells]) -> dict[str, str]:
    r"""Key -> value for \setresult: explanation/<task>/<id>, its verdict, and reach/<cell>, that of M in nats."""
    found = {
        f"explanation/{task}/{explained.explanation.id}": explained.verdict
        for task, explanations in judged.items()
        for explained in explanations
    }
    for cells_of in tasks.values():
        for entries in cells_of.values():
            if text := _reach(entries[0].run):
                found[f"reach/{entries[0].run.cell}"] = text
    return found
