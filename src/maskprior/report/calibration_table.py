"""How arithmetic's unstated choices were settled, as a table and for the paper's text."""

import math
from collections.abc import Iterator
from typing import Any

from maskprior.analysis.calibration import Calibration, Candidate, Metrics, published
from maskprior.analysis.published import METRICS
from maskprior.report.output import NOTHING, number


def calibration_latex(found: Calibration) -> str:
    r"""A row per candidate: Default on both tasks with its distances, and the mask on addition.

    Bold: the smallest sum of distances; $\star$: the configured candidate.
    """
    lines = [
        r"\begin{tabular}{@{}lrrrrrrrrrrrrr@{}}",
        r"\toprule",
        r" & & & \multicolumn{4}{c}{Default, sums} & \multicolumn{4}{c}{Default, products}"
        r" & \multicolumn{3}{c}{Mask, sums} \\",
        r"\cmidrule(lr){4-7}\cmidrule(lr){8-11}\cmidrule(l){12-14}",
        r"readout & token & pos. & seq. & digit & loss & away & seq. & digit & loss & sum & seq. & digit & loss \\",
        r"\midrule",
        rf"\emph{{published}} & & & {_values(published('addition'))} & & {_values(published('multiplication'))}"
        r" & & & & \\",
        r"\midrule",
    ]
    for c in found.candidates:
        total = number(c.total, "distance")
        if c is found.nearest:
            total = rf"\textbf{{{total}}}"
        mark = r" $\star$" if c.name == found.frozen else ""
        default = r"\multicolumn{3}{c}{diverged}" if c.diverged else _values(c.default)
        _, embedding_std, position_std = c.choice
        names = [c.reading.replace("_", r"\_") + mark, f"{embedding_std:g}", f"{position_std:g}"]
        away = number(c.distance, "distance")
        lines.append(" & ".join([*names, default, away, _values(c.multiplication), total, _values(c.mask)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines)


def _values(metrics: Metrics) -> str:
    return " & ".join(number(metrics.get(name, math.nan), name, digits=2) for name in METRICS["arithmetic"])


def calibration_frame(found: Calibration) -> Any:
    """One row per candidate, in full precision."""
    import pandas as pd

    return pd.DataFrame([_row(c, found) for c in found.candidates])


def _row(c: Candidate, found: Calibration) -> dict[str, Any]:
    readout, embedding_std, position_std = c.choice
    names = METRICS["arithmetic"]
    return {
        "candidate": c.name, "readout": readout, "embedding_std": embedding_std, "position_std": position_std,
        **{f"default_{name}": c.default.get(name, math.nan) for name in names},
        "distance": c.distance,
        **{f"multiplication_default_{name}": c.multiplication.get(name, math.nan) for name in names},
        "multiplication_distance": c.multiplication_distance,
        "total": c.total, "nearest": c is found.nearest, "frozen": c.name == found.frozen,
        **{f"mask_{name}": c.mask.get(name, math.nan) for name in names},
    }  # fmt: skip


def calibration_macros(found: Calibration) -> Iterator[tuple[str, str]]:
    """`calibration/…` for the paper's text, as LaTeX."""
    nearest = found.nearest
    yield "calibration/candidates", str(len(found.candidates))
    yield "calibration/measured", str(found.measured)
    yield "calibration/state", found.state
    yield "calibration/nearest", nearest.name.replace("_", r"\_") if nearest else NOTHING
    yield "calibration/distance", number(nearest.distance, "distance") if nearest else NOTHING
    yield "calibration/multiplication", number(nearest.multiplication_distance, "distance") if nearest else NOTHING
    others = [c.distance for c in found.candidates if c is not nearest and c.choice != (nearest and nearest.choice)]
    yield "calibration/next", number(min((d for d in others if not math.isnan(d)), default=math.nan), "distance")
    metric = "sequence_accuracy"
    for method, rows in (
        ("default", [c.default for c in found.candidates]),
        ("mask", [c.mask for c in found.candidates]),
    ):
        values = [row[metric] for row in rows if row]
        yield f"calibration/{method}/lowest", number(min(values, default=math.nan), metric)
        yield f"calibration/{method}/highest", number(max(values, default=math.nan), metric)
