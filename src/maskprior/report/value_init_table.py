"""Images: the prior's place apart from W_V and W_O, as a table."""

from collections.abc import Iterator, Mapping
from typing import Any

from maskprior.analysis.measured import summary
from maskprior.analysis.value_init import DEFAULT, METRIC, MIMETIC, Design, prior_effect, value_effect
from maskprior.report.output import difference_text, interval, method_name, seeds, task_name


def value_init_latex(tasks: Mapping[str, Design]) -> str:
    """A booktabs table, a row a prior: with each W_V W_O its accuracy and what the prior adds; what W_V W_O add.

    Empty where nothing is planned, `--` where nothing has run.
    """
    lines = [
        r"\begin{tabular}{@{}llrrrrrc@{}}",
        r"\toprule",
        r" & & \multicolumn{2}{c}{$W_V W_O$ as Default} & \multicolumn{2}{c}{$W_V W_O$ as Mimetic} & & \\",
        r"\cmidrule(lr){3-4}\cmidrule(lr){5-6}",
        r"task & prior & best & $-$ Default's & best & $-$ Default's & effect of $W_V W_O$ & seeds \\",
    ]
    for task, design in tasks.items():
        lines.append(r"\midrule")
        for row, prior in enumerate(_priors(design)):
            columns = [task_name(task) if row == 0 else "", method_name(prior), *_with_each(design, prior)]
            lines.append(" & ".join(columns) + r" \\")
    if not tasks:
        lines += [r"\midrule", r"\multicolumn{8}{c}{not run at this scale} \\"]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _with_each(design: Design, prior: str) -> Iterator[str]:
    planned = [vproj for vproj in (DEFAULT, MIMETIC) if (prior, vproj) in design]
    for vproj in (DEFAULT, MIMETIC):
        yield interval(summary(design[prior, vproj], METRIC), METRIC) if vproj in planned else ""
        compared = vproj in planned and prior != DEFAULT
        yield difference_text(prior_effect(design, prior, vproj), METRIC) if compared else ""
    yield difference_text(value_effect(design, prior), METRIC) if len(planned) == 2 else ""
    yield min(seeds(summary(design[prior, vproj], METRIC)) for vproj in planned)


def value_init_frame(tasks: Mapping[str, Design]) -> Any:
    """The same as a tidy pandas DataFrame: a row per prior and initialisation, numbers in full precision."""
    import pandas as pd

    return pd.DataFrame(list(_frame_rows(tasks)))


def _frame_rows(tasks: Mapping[str, Design]) -> Iterator[dict[str, Any]]:
    for task, design in tasks.items():
        for (prior, vproj), entries in design.items():
            s, added = summary(entries, METRIC), prior_effect(design, prior, vproj)
            yield {
                "task": task, "prior": prior, "vproj": vproj, "metric": METRIC,
                "mean": s.mean, "low": s.low, "high": s.high, "n": s.n, "planned": s.planned,
                "prior_effect": added.mean, "prior_effect_low": added.low, "prior_effect_high": added.high,
            }  # fmt: skip


def _priors(design: Design) -> list[str]:
    return list(dict.fromkeys(prior for prior, _ in design))
