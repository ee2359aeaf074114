"""The claims and what the records say of them: a matrix of counts, LaTeX (booktabs, longtable), csv and plain text."""

from collections.abc import Sequence
from typing import Any

from maskprior.analysis import headline
from maskprior.analysis.claims import Judgement
from maskprior.analysis.decide import DIRECTIONS, VALUES
from maskprior.analysis.headline import Counts
from maskprior.analysis.published import Reported, inconsistencies
from maskprior.report.outcomes import direction_mark, value_mark, value_words
from maskprior.report.output import NOTHING, escape, interval, method_name, metric_name, seeds, task_name


def claims_frame(judgements: Sequence[Judgement]) -> Any:
    """Every claim at every scale: a row each."""
    import pandas as pd

    return pd.DataFrame([headline.row(judgement) for judgement in judgements])


def tests_frame(judgements: Sequence[Judgement]) -> Any:
    """Every test of every claim at every scale: a row each."""
    import pandas as pd

    return pd.DataFrame(headline.test_rows(judgements))


def matrix_rows(judgements: Sequence[Judgement]) -> list[list[str]]:
    """The counts as text: a head, then a row a place. In brackets how many directions are of the paper's scale."""
    head = ["claims of", "all", *(f"value {name}" for name in VALUES), *(f"direction {name}" for name in DIRECTIONS)]
    return [[*head, "not tested"], *(_matrix_row(counts) for counts in headline.matrix(judgements))]


def _matrix_row(counts: Counts) -> list[str]:
    directions = [f"{counts.direction[name]} ({counts.at_paper[name]})" for name in DIRECTIONS]
    values = [str(counts.value[name]) for name in VALUES]
    if counts.place == headline.STATEMENTS:
        values = [""] * len(VALUES)  # a statement has no value of its own
    return [counts.place, str(counts.claims), *values, *directions, str(counts.not_tested)]


def matrix_latex(judgements: Sequence[Judgement]) -> str:
    """`matrix_rows` as a table."""
    marks = " & ".join(rf"\outcome{{{name}}}" for name in (*VALUES[:-1], "1 seed: inside", *DIRECTIONS))
    names = " & ".join((*VALUES, *DIRECTIONS))
    lines = [
        r"\begin{tabular}{@{}lr" + "r" * len(VALUES) + "r" * len(DIRECTIONS) + "r@{}}",
        r"\toprule",
        rf" & & \multicolumn{{{len(VALUES)}}}{{c}}{{value, at the paper's scale}}"
        rf" & \multicolumn{{{len(DIRECTIONS)}}}{{c}}{{direction (of which at the paper's scale)}} & not \\",
        r"\cmidrule(lr){3-6}\cmidrule(lr){7-10}",
        rf" & & {marks} & \\",
        rf"claims of & all & {names} & tested \\",
        r"\midrule",
    ]
    *rows, total = (" & ".join(row) + r" \\" for row in matrix_rows(judgements)[1:])
    return "\n".join([*lines, *rows, r"\midrule", total, r"\bottomrule", r"\end{tabular}"])


def matrix_markdown(judgements: Sequence[Judgement]) -> list[str]:
    """`matrix_rows` as lines of Markdown."""
    head, *rows = matrix_rows(judgements)
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)]


def matrix_text(judgements: Sequence[Judgement]) -> str:
    """`matrix_rows` in columns, for a terminal, and what chance alone would give."""
    rows = matrix_rows(judgements)
    rows[0] = [name.replace(" ", "\n", 1) if i else name for i, name in enumerate(rows[0])]
    above = [part.partition("\n")[0] if "\n" in part else "" for part in rows[0]]
    below = [part.rpartition("\n")[2] for part in rows[0]]
    lines = [above, below, *rows[1:]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(below))]
    text = ["  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])
            for line in lines]  # fmt: skip
    rest = "Values are asked at the paper's scale; in brackets: directions of the paper's scale."
    return "\n".join([*(line.rstrip() for line in text), "", rest, chance_words(judgements)])


def chance_words(judgements: Sequence[Judgement]) -> str:
    """How many of the comparisons chance alone would decide."""
    e = headline.expectation(judgements)
    return (
        f"Of {e.comparisons} comparisons for a sign, {e.significant} have a 95 % interval that excludes no difference;"
        f" by chance alone {e.by_chance:.1f} would. {e.adjusted} remain below 0.05 when the p-values are adjusted for"
        " all of them (Benjamini-Hochberg)."
    )


def chain_text(members: Sequence[Judgement]) -> str:
    """One claim from its published value to the records: seeds, intervals, tests and outcomes, scale by scale."""
    claim = members[0].claim
    lines = [f"{claim.id} ({claim.place})", claim.statement]
    if claim.reported:
        again = " (an earlier table prints this cell too)" if claim.again else ""
        lines.append(f"published: {claim.reported.digits}{again}")
    for j in members:
        lines += ["", f"{j.scale} scale: {outcome_words(j)}"]
        for name, values in j.seeds.items():
            seeds_ = ", ".join(f"seed {seed}: {value:.6g}" for seed, value in values.items()) or "no seed"
            lines.append(f"  {name}: {seeds_}")
        if claim.reported and j.ours and j.ours.has_interval:
            lines.append(f"  mean {j.ours.mean:.6g}, 95 % interval [{j.ours.low:.6g}, {j.ours.high:.6g}]")
        lines += [f"  {detail}" for detail in j.detail.split("; ") if detail]
        lines += [f"  p {t.decision.p:.3g}, adjusted for all comparisons {t.p_adjusted:.3g}: {t.test.name}"
                  for t in j.tested if t.decision.p == t.decision.p]  # fmt: skip
        lines += [f"  {path}" for path in j.paths]
    return "\n".join([*lines, "", f"why so: {claim.why}"])


def outcome_words(judgement: Judgement) -> str:
    """`value agrees, direction holds`."""
    parts = [("value", value_words(judgement)), ("direction", judgement.direction or "")]
    return ", ".join(f"{name} {words}" for name, words in parts if words) or "nothing is asked"


def published_claims_latex(judgements: Sequence[Judgement]) -> str:
    """Every published number, a line per scale that says something of it: the body of a longtable."""
    lines = []
    for members in headline.by_claim(judgements).values():
        if members[0].claim.reported is None:
            continue
        spoken = [j for j in members if j.ours and j.ours.n] or members[:1]
        lines += [_claim_line(j, j.claim.reported, first=j is spoken[0]) for j in spoken if j.claim.reported]
    return "\n".join(lines)


def _claim_line(judgement: Judgement, reported: Reported, *, first: bool) -> str:
    ours = judgement.ours
    there = ours is not None and ours.n > 0
    words = (task_name(reported.task), method_name(reported.method), metric_name(reported.metric))
    names = [reported.table[1:], *map(escape, words), reported.digits]
    columns = [
        *(names if first else [""] * len(names)),
        interval(ours, reported.metric) if ours and there else NOTHING,
        seeds(ours) if ours and ours.planned else NOTHING,
        judgement.scale if there else "",
        value_mark(judgement),
        direction_mark(judgement),
    ]
    return " & ".join(columns) + r" \\"


def statements_latex(judgements: Sequence[Judgement]) -> str:
    """Every statement with its place and its outcome at each scale that has one; under their experiment's name."""
    statements = [m for m in headline.by_claim(judgements).values() if m[0].claim.reported is None]
    experiments = list(dict.fromkeys(members[0].claim.experiment for members in statements))
    lines = []
    for experiment in experiments:
        if len(experiments) > 1:
            lines.append(rf"\addlinespace\multicolumn{{4}}{{@{{}}l}}{{\emph{{{experiment.capitalize()}}}}}\\")
        lines += [
            rf"{_marks(members)} & {escape(members[0].claim.statement)} & {escape(members[0].claim.place)} \\"
            for members in statements
            if members[0].claim.experiment == experiment
        ]
    return "\n".join(lines)


def _marks(members: Sequence[Judgement]) -> str:
    """The paper's scale, then the other."""
    at_paper = next((direction_mark(j) for j in members if j.scale == "paper"), "")
    elsewhere = next((direction_mark(j) for j in members if j.scale != "paper"), "")
    return f"{at_paper} & {elsewhere}"


def inconsistencies_latex(reported: Sequence[Reported]) -> str:
    """The cells for which the paper prints two different numbers."""
    lines = [r"\begin{tabular}{@{}lllrr@{}}", r"\toprule", r"task & method & metric & first & second \\", r"\midrule"]
    for first, second in inconsistencies(reported):
        names = [task_name(first.task), method_name(first.method), metric_name(first.metric)]
        values = [f"{r.digits} (Table {r.table[1:]})" for r in (first, second)]
        lines.append(" & ".join([*map(escape, names), *values]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])
