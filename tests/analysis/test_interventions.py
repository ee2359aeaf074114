"""The interventions' table and figure on constructed records."""

from pathlib import Path

import pytest

from maskprior.analysis import interventions
from maskprior.analysis.output import method_name
from maskprior.analysis.records import Entry, load_target
from maskprior.config.settings import read_settings
from tests.analysis.conftest import WriteRun


@pytest.fixture
def entries(project: Path, write_run: WriteRun) -> list[Entry]:
    path = project / "config" / "experiments" / "boolean.yaml"
    methods = "[mask+sgd, structured_svd, mask, mask+amplitude1]"
    path.write_text(path.read_text() + f"\n  tested: {{tasks: [2parity], methods: {methods}}}\n")
    for seed in range(2):
        write_run("2parity", "mask", seed, {"test_accuracy": 100.0})
        write_run("2parity", "mask+sgd", seed, {"test_accuracy": 75.0}, map_alignment=(1.0, 0.8, 0.4, 0.2))
    return load_target("tested", read_settings({"seeds": 2}))


def test_the_unchanged_method_comes_before_its_changes(entries: list[Entry]) -> None:
    found = interventions.persisted_levels(entries)
    assert list(found) == ["mask", "mask+sgd", "mask+amplitude1", "structured_svd"]
    assert found["mask+sgd"]["map"].final.mean == pytest.approx(0.2)


def test_table_has_a_row_per_cell_also_for_one_that_has_not_run(entries: list[Entry]) -> None:
    lines = interventions.latex(entries).splitlines()
    (row,) = [line for line in lines if line.startswith("Mask, SGD")]
    assert row.split(" & ")[2] == r"0.200 \ci{0.200}{0.200}"
    assert row.split(" & ")[6] == r"75.00 \ci{75.00}{75.00}"
    assert "Mask, amplitude 1 & -- & -- & -- & -- & -- & -- & 0/2 \\\\" in lines
    assert lines.count(r"\midrule") == 2


def test_numbers_in_full(entries: list[Entry]) -> None:
    frame = interventions.frame(entries).set_index(["method", "level"])
    assert frame.loc[("mask", "function")]["end"] == 1.0
    assert frame.loc[("structured_svd", "map")]["n"] == 0


def test_figure_has_a_line_per_cell(entries: list[Entry]) -> None:
    figure = interventions.picture(entries)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        "Mask", "Mask, SGD", "Mask, amplitude 1", "Structured (SVD)"
    ]  # fmt: skip


def test_names_of_variants() -> None:
    assert method_name("mask+query_key_frozen") == "Mask, QK frozen"
    assert method_name("mask+something") == "Mask, something"
