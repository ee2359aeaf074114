"""What could explain that a prior persists, and what the runs say of it, as a table."""

from collections.abc import Sequence
from typing import Any

from maskprior.analysis.explanations import LEFT, Judged
from maskprior.report.output import escape, interval, method_name, number, seeds


def explanations_latex(judged: Sequence[Judged]) -> str:
    """Each explanation with its verdict, and under it what it predicts and what the runs say."""
    lines = [
        r"\begin{tabular}{@{}lllrlrrrl@{}}",
        r"\toprule",
        r" & cell & level & predicted & share & left & baseline & seeds & \\",
    ]
    for found in judged:
        text = rf"\parbox[t]{{0.76\linewidth}}{{\raggedright {escape(found.explanation.explanation)}\strut}}"
        lines.append(r"\midrule")
        lines.append(rf"\multicolumn{{8}}{{@{{}}l}}{{{text}}} & \textbf{{{found.verdict}}} \\")
        for tested in found.tested:
            p = tested.prediction
            bound = rf"$\geq {p.at_least:g}$" if p.below is None else rf"$< {p.below:g}$"
            left, baseline = (number(s.mean, LEFT[p.level]) for s in (tested.left, tested.baseline))
            columns = [
                r"\quad", method_name(p.cell), p.level, f"{bound} of what is {p.of}", interval(tested.share, "share"),
                left, baseline, seeds(tested.left), rf"\outcome{{{tested.outcome}}} {tested.outcome}",
            ]  # fmt: skip
            lines.append(" & ".join(columns) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def explanations_frame(task: str, judged: Sequence[Judged]) -> Any:
    """One row per prediction, in full precision."""
    import pandas as pd

    return pd.DataFrame(
        {
            "task": task, "explanation": found.explanation.id, "verdict": found.verdict,
            "cell": tested.prediction.cell, "level": tested.prediction.level,
            "of": tested.prediction.of, "at_least": tested.prediction.at_least, "below": tested.prediction.below,
            "confound": tested.prediction.confound, "share": tested.share.mean, "share_low": tested.share.low,
            "share_high": tested.share.high, "left": tested.left.mean, "left_low": tested.left.low,
            "left_high": tested.left.high, "baseline": tested.baseline.mean, "n": tested.share.n,
            "planned": tested.left.planned, "outcome": tested.outcome, "why": tested.why,
        }
        for found in judged
        for tested in found.tested
    )  # fmt: skip
