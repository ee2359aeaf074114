"""No printed interval leaves the range that its number can have: in the tables' csv files and in docs/results.md."""

import functools
import re
from collections.abc import Callable

import pandas as pd
import pytest

from maskprior import paths
from maskprior.analysis.claims import Judgement, evaluate
from maskprior.analysis.records import load_target
from maskprior.config.settings import read_settings
from maskprior.report import (
    arithmetic_figures,
    arithmetic_table,
    boolean_table,
    claims_table,
    interventions_table,
    language_table,
    vision_table,
)

PROJECT = paths.package().parents[1]
INTERVAL = re.compile(r"(-?[\d.]+) \[(-?[\d.]+), (-?[\d.]+|inf)\]")
PERCENT = re.compile(r"accuracy|top-?1")
POSITIVE = re.compile(r"loss|perplexity")
ROUNDING = 1e-9
SETTINGS = read_settings()

pytestmark = pytest.mark.skipif(
    not any(paths.results("published").rglob("*.json")), reason="the published records are not restored here"
)


@functools.cache
def judged() -> list[Judgement]:
    return evaluate(SETTINGS)


def interventions() -> pd.DataFrame:
    from maskprior.analysis import interventions

    tasks = interventions.load_tasks(SETTINGS)
    return pd.concat([interventions_table.interventions_frame(cells) for cells in tasks.values()])


FRAMES: dict[str, Callable[[], pd.DataFrame]] = {
    "claims": lambda: claims_table.claims_frame(judged()),
    "table1": lambda: boolean_table.boolean_frame(boolean_table.boolean_rows("T1", SETTINGS, judged())),
    "table4": lambda: boolean_table.boolean_frame(boolean_table.boolean_rows("T4", SETTINGS, judged())),
    "table3": lambda: vision_table.vision_frame(vision_table.vision_rows("T3", SETTINGS, judged())),
    "table5": lambda: vision_table.vision_frame(vision_table.vision_rows("T5", SETTINGS, judged())),
    "table2": lambda: arithmetic_table.arithmetic_frame(arithmetic_table.arithmetic_rows(SETTINGS, judged())),
    "table6": lambda: language_table.language_frame(language_table.language_rows(SETTINGS, judged())),
    "figure4": lambda: arithmetic_figures.fractions_frame(load_target("figure4_addition", SETTINGS)),
    "interventions": interventions,
}


def outside(metric: str, low: float, mean: float, high: float) -> bool:
    """Whether an interval is none that the metric can have."""
    if not low - ROUNDING <= mean <= high + ROUNDING:
        return True
    if PERCENT.search(metric):
        return low < 0 or high > 100
    return bool(POSITIVE.search(metric)) and low <= 0


@pytest.mark.parametrize("name", FRAMES)
def test_no_interval_of_a_csv_file_leaves_its_range(name: str) -> None:
    frame = FRAMES[name]()
    if "metric" not in frame:
        frame["metric"] = frame["id"].str.rsplit("-", n=1).str[-1]
    columns = ("mean_low", "mean", "mean_high") if "mean_low" in frame else ("low", "mean", "high")
    rows = frame.dropna(subset=list(columns))
    assert len(rows) > 5
    wrong = [tuple(row) for row in rows[["metric", *columns]].itertuples(index=False) if outside(*row)]
    assert not wrong


def test_no_interval_of_a_page_leaves_its_range() -> None:
    header: list[str] = []
    seen = 0
    for line in (PROJECT / "docs" / "results.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header = cells
        for index, cell in enumerate(cells):
            for mean, low, high in INTERVAL.findall(cell):
                # The column of ours stands behind that of the published number, which names the metric.
                metric = header[index - 1] if header and header[index] == "ours" else ""
                # A lower end that is printed as 0.000 is a small number, rounded.
                assert not outside(metric, float(low) or ROUNDING, float(mean) or ROUNDING, float(high)), line
                seen += 1
    assert seen > 50
