import math

import numpy as np
import pytest

from maskprior.analysis import theory
from maskprior.analysis.records import load_cell
from maskprior.config.settings import Settings
from maskprior.report import theory_figure, theory_table

SETTINGS = Settings(scale="smoke", seeds=3, device="cpu", recompute=False)


@pytest.fixture
def entries(write_run):
    """Two of three seeds of a mask run, with constructed sensitivities: 2 layers, 3 heads, 4 looks, 5 updates."""
    for seed in (0, 1):
        write_run("2parity", "mask", seed, {"test_loss": 0.1}, scale="smoke")
    found = load_cell("boolean", "2parity", "mask", SETTINGS)
    for seed, entry in enumerate(found[:2]):
        looks = np.broadcast_to(np.array([1.0, 2, 3, 4], dtype=np.float32)[:, None, None] + seed, (4, 2, 3))
        updates = np.broadcast_to(np.array([1.0, 9, 3, 2, 4], dtype=np.float32)[:, None, None] + seed, (5, 2, 3))
        for part, size in (("query", 1), ("key", 10), ("mask", 100)):
            entry.arrays[f"persistence/{part}_sensitivity"] = size * looks
            entry.arrays[f"persistence/{part}_bound"] = 2 * size * looks
        entry.arrays["persistence/query_key_logit_step"] = updates
        entry.arrays["persistence/mask_logit_step"] = updates / 10
    return found


def test_rows_are_means_over_the_completed_seeds(entries):
    rows = {row.part: row for row in theory.sensitivities(entries)}
    assert list(rows) == ["query", "key", "mask"]
    key = rows["key"]
    assert (key.start, key.end, key.start_bound, key.end_bound) == (15, 45, 30, 90)
    # The medians over updates are 3 and 4.
    assert (key.logit_step, rows["query"].logit_step) == (3.5, 3.5)
    assert rows["mask"].logit_step == pytest.approx(0.35)
    assert (key.n, key.planned) == (2, 3)


def test_a_part_the_method_lacks_has_no_row(entries):
    for entry in entries[:2]:
        entry.arrays["persistence/mask_sensitivity"] = np.full((4, 2, 3), np.nan, dtype=np.float32)
    assert [row.part for row in theory.sensitivities(entries)] == ["query", "key"]


def test_curves_and_missing_runs(entries):
    steps, values = theory.curve(entries, "query_bound")
    assert steps.tolist() == [0, 1, 10, 60]
    assert values.tolist() == [3, 5, 7, 9]
    assert theory.curve(entries[2:], "query_bound")[1].size == 0
    assert theory.sensitivities(entries[2:]) == []


def test_frame_and_table(entries):
    rows = theory.sensitivities(entries)
    frame = theory_table.theory_frame(rows)
    assert frame["end_share"].tolist() == [0.5, 0.5, 0.5]
    assert theory_table.theory_frame([]).empty
    lines = theory_table.theory_latex(rows).splitlines()
    assert [line.split(" & ")[2] for line in lines if line.endswith(r"0.35 \\")] == ["mask $m$"]
    assert sum(line.startswith("2Parity & Mask & ") for line in lines) == 1


def test_figure_draws_what_is_there(entries):
    figure = theory_figure.bounds_in_training(entries, ["2parity"], ["mask", "default"])
    mask, default = figure.axes
    assert len(mask.lines) == 6
    assert len(default.lines) == 0
    assert mask.lines[0].get_xdata().tolist() == [0.5, 1, 10, 60]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0668, "0.067"),
        (2.94e-5, r"$2.9\cdot10^{-5}$"),
        (0, "0"),
        (99, "99"),
        (1234, r"$1.2\cdot10^{3}$"),
        (math.nan, "--"),
    ],
)
def test_numbers(value, text):
    assert theory_table.scientific(value) == text
