"""How arithmetic's unstated choices were settled, as a table and for the paper's text."""

import math
from collections.abc import Iterator
from typing import Any

from maskprior.analysis.calibration import TASK, Calibration, Metrics, published
from maskprior.analysis.published import METRICS
from maskprior.report.output import NOTHING, number


def calibration_latex(found: Calibration) -> str:
    r"""A row per candidate: Default with its distance, and the mask. Bold: the nearest; $\star$: the configured."""
    lines = [
        r"\begin{tabular}{@{}lrrrrrrrrr@{}}",
        r"\toprule",
        r" & & & \multicolumn{4}{c}{Default} & \multicolumn{3}{c}{Mask} \\",
        r"\cmidrule(lr){4-7}\cmidrule(l){8-10}",
        r"readout & token std & position std & seq. & digit & loss & distance & seq. & digit & loss \\",
        r"\midrule",
        rf"\emph{{published}} & & & {_values(published(TASK))} & & & & \\",
        r"\midrule",
    ]
    for c in found.candidates:
        away = number(c.distance, "distance")
        if c is found.nearest:
            away = rf"\textbf{{{away}}}"
        mark = r" $\star$" if c.name == found.frozen else ""
        default = r"\multicolumn{3}{c}{diverged}" if c.diverged else _values(c.default)
        names = [c.readout.replace("_", r"\_") + mark, f"{c.embedding_std:g}", f"{c.position_std:g}"]
        lines.append(" & ".join([*names, default, away, _values(c.mask)]) + r" \\")
    away = number(found.multiplication_distance, "distance")
    head = r"\multicolumn{3}{@{}l}{multiplication"
    lines += [
        r"\midrule",
        rf"{head}, \emph{{published}}}} & {_values(published('multiplication'))} & & & & \\",
        rf"{head} at $\star$}} & {_values(found.multiplication)} & {away} & & & \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def _values(metrics: Metrics) -> str:
    return " & ".join(number(metrics.get(name, math.nan), name, digits=2) for name in METRICS["arithmetic"])


def calibration_frame(found: Calibration) -> Any:
    """One row per candidate, in full precision."""
    import pandas as pd

    return pd.DataFrame(
        {
            "candidate": c.name, "readout": c.readout, "embedding_std": c.embedding_std, "position_std": c.position_std,
            **{f"default_{name}": c.default.get(name, math.nan) for name in METRICS["arithmetic"]},
            "distance": c.distance, "nearest": c is found.nearest, "frozen": c.name == found.frozen,
            **{f"mask_{name}": c.mask.get(name, math.nan) for name in METRICS["arithmetic"]},
        }
        for c in found.candidates
    )  # fmt: skip


def calibration_macros(found: Calibration) -> Iterator[tuple[str, str]]:
    """`calibration/…` for the paper's text, as LaTeX."""
    nearest = found.nearest
    yield "calibration/candidates", str(len(found.candidates))
    yield "calibration/measured", str(found.measured)
    yield "calibration/state", found.state
    yield "calibration/nearest", nearest.name.replace("_", r"\_") if nearest else NOTHING
    yield "calibration/distance", number(nearest.distance, "distance") if nearest else NOTHING
    yield "calibration/multiplication", number(found.multiplication_distance, "distance")
    metric = "sequence_accuracy"
    for method, rows in (
        ("default", [c.default for c in found.candidates]),
        ("mask", [c.mask for c in found.candidates]),
    ):
        values = [row[metric] for row in rows if row]
        yield f"calibration/{method}/lowest", number(min(values, default=math.nan), metric)
        yield f"calibration/{method}/highest", number(max(values, default=math.nan), metric)
