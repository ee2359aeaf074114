"""How a difference stands in a csv file: the same columns in all of them."""

import math
from typing import Any

from maskprior.analysis.aggregate import Difference

COLUMNS = ("difference", "unit", "low", "high", "p", "p_adjusted", "sign_p", "n", "planned", "scale")


def difference_columns(
    difference: Difference | None, scale: str, *, p: float | None = None, p_adjusted: float = math.nan
) -> dict[str, Any]:
    """A difference as the columns of a csv; empty where there is none.

    `p`: of the test that decides, where it is not that for a sign; `p_adjusted`: for all comparisons of the claims.
    """
    if difference is None:
        return dict.fromkeys(COLUMNS) | {"scale": scale}
    d = difference
    values = (
        d.mean, "ratio" if d.ratio else "difference", d.low, d.high, d.p if p is None else p, p_adjusted, d.sign_p,
        d.n, d.planned, scale,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))
