"""Rows of any experiment's table, on constructed records."""

from maskprior.analysis import claims, rows
from maskprior.config.settings import Settings
from maskprior.report import output
from tests.constructed_runs import WriteRun
from tests.constructed_table import write_table2


def test_a_cell_stands_at_the_chosen_scale_and_at_the_papers(table2_settings: Settings, write_run: WriteRun) -> None:
    write_table2(write_run)
    found = rows.table_rows("T2", "arithmetic", table2_settings, claims.evaluate(table2_settings))
    assert [(row.method, row.scale, row.measured["sequence_accuracy"].n) for row in found] == [
        ("default", "reduced", 0), ("default", "paper", 2), ("mask", "reduced", 0), ("mask", "paper", 2),
    ]  # fmt: skip
    mask = found[-1]
    assert mask.published == {"sequence_accuracy": "77.49", "digit_accuracy": "93.86", "test_loss": "0.23"}
    assert mask.differences["sequence_accuracy"].values == (69.0, 72.0)
    assert found[1].differences == {}
    assert rows.total_sources(found) == "4 local, 4 missing"
    assert r"\atpaper" in output.note(found, table2_settings)


def test_no_row_of_another_experiment(table2_settings: Settings) -> None:
    assert rows.table_rows("T2", "boolean", table2_settings, []) == []
    assert {row.experiment for row in rows.table_rows("T1", "boolean", table2_settings, [])} == {"boolean"}
