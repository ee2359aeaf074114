"""Rows of any experiment's table, on constructed records."""

from pathlib import Path

import pytest
import yaml

from maskprior.analysis import claims, rows
from maskprior.analysis.macros import macros
from maskprior.analysis.readme import results
from maskprior.analysis.records import load_target
from maskprior.config.settings import Settings, read_settings
from tests.analysis.conftest import WriteRun


@pytest.fixture
def settings(project: Path) -> Settings:
    """Two seeds of arithmetic's Table 2 with one task and two methods."""
    path = project / "config" / "experiments" / "arithmetic.yaml"
    file = yaml.safe_load(path.read_text())
    file["targets"] = {"table2": {"tasks": ["addition"], "methods": ["default", "mask"]}}
    path.write_text(yaml.safe_dump(file, sort_keys=False))
    return read_settings({"seeds": 2})


def write(write_run: WriteRun, scale: str = "paper") -> None:
    for seed, (default, mask) in enumerate([(1.0, 70.0), (2.0, 74.0)]):
        for method, value in (("default", default), ("mask", mask)):
            metrics = {"sequence_accuracy": value, "digit_accuracy": 50.0, "test_loss": 1.0}
            write_run("addition", method, seed, metrics, scale=scale)


def test_a_cell_stands_at_the_chosen_scale_and_at_the_papers(settings: Settings, write_run: WriteRun) -> None:
    write(write_run)
    found = rows.table_rows("T2", "arithmetic", settings, claims.evaluate(settings))
    assert [(row.method, row.scale, row.measured["sequence_accuracy"].n) for row in found] == [
        ("default", "reduced", 0), ("default", "paper", 2), ("mask", "reduced", 0), ("mask", "paper", 2),
    ]  # fmt: skip
    mask = found[-1]
    assert mask.published == {"sequence_accuracy": "77.49", "digit_accuracy": "93.86", "test_loss": "0.23"}
    assert mask.differences["sequence_accuracy"].values == (69.0, 72.0)
    assert found[1].differences == {}
    assert rows.total_sources(found) == "4 local, 4 missing"
    assert r"\atpaper" in rows.note(found, settings)


def test_no_row_of_another_experiment(settings: Settings) -> None:
    assert rows.table_rows("T2", "boolean", settings, []) == []
    assert {row.experiment for row in rows.table_rows("T1", "boolean", settings, [])} == {"boolean"}


def test_the_text_can_speak_of_both_scales(settings: Settings, write_run: WriteRun) -> None:
    write(write_run)
    write_run("2parity", "mask", 0, {"test_loss": 0.5}, scale="paper")
    at_paper = load_target("all", settings.model_copy(update={"scale": "paper"}))
    found = macros(load_target("all", settings), claims.evaluate(settings), settings, at_paper=at_paper)
    assert found["paper/arithmetic/addition/mask/sequence_accuracy/mean"] == "72.00"
    assert found["arithmetic/addition/mask/sequence_accuracy/mean"] == "--"
    assert found["paper/boolean/2parity/mask/test_loss/mean"] == "0.500"
    assert found["boolean/2parity/mask/test_loss/mean"] == "--"
    assert found["difference/paper/arithmetic/addition/mask/sequence_accuracy/mean"] == "70.50"
    assert found["config/arithmetic/addition/mask/train_fraction"] == "0.004"
    # metrics of one experiment are no metrics of another
    assert "boolean/2parity/mask/sequence_accuracy/mean" not in found
    assert "arithmetic/addition/mask/test_sign_accuracy/mean" not in found


def test_readme_has_a_table_per_experiment_that_ran(settings: Settings, write_run: WriteRun) -> None:
    write(write_run)
    text = results(settings, claims.evaluate(settings))
    assert "| task | method | scale | loss:" not in text
    (mask,) = [line for line in text.splitlines() if line.startswith("| Addition | Mask |")]
    assert mask.startswith("| Addition | Mask | paper | 77.49 | 72.00 [46.59, 97.41] | 93.86 | 50.00 [50.00, 50.00] |")
    assert "| `table2` | paper | 4/4 | 4 s on one core | 1 to 1 s |  |" in text.splitlines()
