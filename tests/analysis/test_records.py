"""Planned runs stay in the list whatever became of them."""

from pathlib import Path

import pytest

from maskprior.analysis import records
from maskprior.analysis.claims import summary
from maskprior.config.settings import Settings, read_settings
from maskprior.errors import DATA, UserError
from tests.constructed_runs import WriteRun


@pytest.fixture
def settings(project: Path) -> Settings:
    return read_settings({"seeds": 3})


def test_missing_and_diverged_runs_are_counted(settings: Settings, write_run: WriteRun) -> None:
    write_run("2parity", "mask", 0, {"test_loss": 0.5})
    write_run("2parity", "mask", 1, {"test_loss": 9e9}, diverged=True)
    entries = records.load_cell("boolean", "2parity", "mask", settings)
    assert [entry.status for entry in entries] == ["completed", "diverged", "missing"]
    found = summary(entries, "test_loss")
    assert (found.mean, found.n, found.planned, found.diverged) == (0.5, 1, 3, 1)
    assert records.sources(entries) == {"local": 2, "missing": 1}


def test_published_records_come_first_unless_recomputed(settings: Settings, write_run: WriteRun) -> None:
    write_run("2parity", "mask", 0, {"test_loss": 1.0}, kind="published")
    write_run("2parity", "mask", 0, {"test_loss": 2.0}, kind="local")
    cell = ("boolean", "2parity", "mask")
    again = settings.model_copy(update={"recompute": True})
    assert records.by_seed(records.load_cell(*cell, settings), "test_loss") == {0: 1.0}
    assert records.by_seed(records.load_cell(*cell, again), "test_loss") == {0: 2.0}


def test_frame_has_a_row_per_planned_run(settings: Settings, write_run: WriteRun) -> None:
    write_run("2parity", "mask", 1, {"test_loss": 0.25}, map_alignment=(0.5, 0.5, 0.5, 0.25))
    frame = records.frame(records.load_cell("boolean", "2parity", "mask", settings))
    assert list(frame["seed"]) == [0, 1, 2]
    assert list(frame["status"]) == ["missing", "completed", "missing"]
    assert list(frame["test_loss"].dropna()) == [0.25]
    assert list(frame["map_retention"].dropna()) == [0.5]


def test_cells_keep_the_order_of_the_plan(settings: Settings) -> None:
    found = records.cells(records.load_target("table4", settings))
    assert [method for task, method in found if task == "2parity"][:4] == ["default", "mask_zero", "mask", "mask_fixed"]
    assert all([entry.run.seed for entry in entries] == [0, 1, 2] for entries in found.values())


def test_a_cell_without_configuration_has_no_entries(settings: Settings) -> None:
    assert records.load_cell("nothing", "wikitext2", "mask", settings) == []
    assert records.load_cell("boolean", "wikitext2", "mask", settings) == []
    assert records.load_cell("boolean", "2parity", "impulse+sgd", settings) == []


def test_a_task_names_its_experiment(project: Path) -> None:
    assert (records.experiment_of("2parity"), records.experiment_of("addition")) == ("boolean", "arithmetic")


def test_a_corrupt_record_is_named(settings: Settings, write_run: WriteRun) -> None:
    path = write_run("2parity", "mask", 0, {"test_loss": 1.0})
    path.write_text("{}")
    with pytest.raises(UserError, match="corrupt record") as error:
        records.load_cell("boolean", "2parity", "mask", settings)
    assert error.value.exit_code == DATA
