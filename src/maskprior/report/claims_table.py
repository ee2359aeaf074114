"""The claims and their verdicts, as LaTeX (booktabs, longtable) and csv."""

from collections.abc import Sequence
from typing import Any

from maskprior.analysis import claims
from maskprior.analysis.claims import VERDICTS, Reported, Verdict
from maskprior.report.output import NOTHING, escape, interval, method_name, metric_name, seeds, task_name


def claims_frame(verdicts: Sequence[Verdict]) -> Any:
    import pandas as pd

    return pd.DataFrame([claims.row(verdict) for verdict in verdicts])


def verdict_counts(verdicts: Sequence[Verdict]) -> list[list[str]]:
    """How many claims of each place got which verdict, and how many there are: a row a place, the last of all."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.claim.place if verdict.claim.reported else "statements", []).append(verdict)
    rows = []
    for name, members in [*groups.items(), ("all", list(verdicts))]:
        counts = claims.count(members)
        rows.append([name, *(str(counts[v]) for v in VERDICTS), str(len(members))])
    return rows


def verdict_counts_latex(verdicts: Sequence[Verdict]) -> str:
    """`verdict_counts` as a table."""
    heads = " & ".join(rf"\verdict{{{name}}} {name}" for name in VERDICTS)
    lines = [r"\begin{tabular}{@{}lrrrrr@{}}", r"\toprule", rf"claims of & {heads} & all \\", r"\midrule"]
    *places, total = (" & ".join(row) + r" \\" for row in verdict_counts(verdicts))
    return "\n".join([*lines, *places, r"\midrule", total, r"\bottomrule", r"\end{tabular}"])


def published_claims_latex(verdicts: Sequence[Verdict]) -> str:
    """Every published number, by verdict: a supertabular body for a longtable with four columns a side."""
    lines = []
    for name in VERDICTS:
        members = [v for v in verdicts if v.verdict == name and v.claim.reported]
        if not members:
            continue
        lines.append(rf"\verdicthead{{{name}}}{{{len(members)}}}")
        lines += [_claim_line(v, v.claim.reported) for v in members if v.claim.reported]
    return "\n".join(lines)


def _claim_line(verdict: Verdict, reported: Reported) -> str:
    ours = interval(verdict.ours, reported.metric) if verdict.ours else NOTHING
    n = seeds(verdict.ours) if verdict.ours and verdict.ours.planned else NOTHING
    scale = verdict.scale if verdict.ours and verdict.ours.n else ""
    columns = [
        f"{reported.table[1:]}",
        escape(f"{task_name(reported.task)}"),
        escape(method_name(reported.method)),
        escape(metric_name(reported.metric)),
        reported.digits,
        ours,
        n,
        scale,
    ]
    return " & ".join(columns) + r" \\"


def statements_latex(verdicts: Sequence[Verdict]) -> str:
    """Every statement with its place and verdict; under their experiment's name where there are several."""
    statements = [v for v in verdicts if v.claim.reported is None]
    experiments = list(dict.fromkeys(v.claim.experiment for v in statements))
    lines = []
    for experiment in experiments:
        if len(experiments) > 1:
            lines.append(rf"\addlinespace\multicolumn{{3}}{{@{{}}l}}{{\emph{{{experiment.capitalize()}}}}}\\")
        lines += [
            rf"\verdict{{{v.verdict}}} & {escape(v.claim.statement)} & {escape(v.claim.place)} \\"
            for v in statements
            if v.claim.experiment == experiment
        ]
    return "\n".join(lines)


def inconsistencies_latex(reported: Sequence[Reported]) -> str:
    """The cells for which the paper prints two different numbers."""
    lines = [r"\begin{tabular}{@{}lllrr@{}}", r"\toprule", r"task & method & metric & first & second \\", r"\midrule"]
    for first, second in claims.inconsistencies(reported):
        names = [task_name(first.task), method_name(first.method), metric_name(first.metric)]
        values = [f"{r.digits} (Table {r.table[1:]})" for r in (first, second)]
        lines.append(" & ".join([*map(escape, names), *values]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
