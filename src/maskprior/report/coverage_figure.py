"""How often the rules err on made-up cells, as a figure and a table."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

from maskprior.analysis.aggregate import CONFIDENCE
from maskprior.analysis.coverage import Rates
from maskprior.report.figures import BLUE, GREEN, ORANGE, PURPLE, WIDTH


def coverage_frame(found: Sequence[Rates]) -> Any:
    """One row per kind of cell and number of seeds."""
    import pandas as pd

    return pd.DataFrame([vars(rates) for rates in found])


def coverage_figure(found: Sequence[Rates]) -> Figure:
    """Left: what two intervals should hold in 95 % of cells. Right: outcomes where neither cell is better."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(WIDTH, 0.28 * len(found) + 1.3), layout="constrained", sharey=True
    )
    rows = range(len(found))
    error = (1 - CONFIDENCE) / 2
    panels = {
        left: [
            ("the true mean, in its interval", BLUE, "o", [r.covered for r in found]),
            ("one more seed, not said to differ", ORANGE, "s", [1 - r.differs for r in found]),
        ],
        right: [
            ("holds", BLUE, "o", [r.holds for r in found]),
            ("contradicted", ORANGE, "s", [r.contradicted for r in found]),
            ("holds, against steady cells", GREEN, "^", [r.steady_holds for r in found]),
            ("contradicted, against steady cells", PURPLE, "v", [r.steady_contradicted for r in found]),
        ],
    }
    for ax, series in panels.items():
        for label, colour, marker, shares in series:
            ax.plot([100 * share for share in shares], rows, marker, color=colour, label=label, markersize=4)
        ax.axvline(100 * (CONFIDENCE if ax is left else error), color="0.6", linestyle="dotted", linewidth=0.8)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1))
    left.set_yticks(rows, [f"{r.kind}, {r.n} seeds" for r in found])
    left.invert_yaxis()
    left.set_xlabel("% of cells (should be 95)")
    right.set_xlabel(f"% of equal cells (should be {100 * error:.1f})")
    right.set_xlim(left=0)
    sns.despine(figure)
    return figure
