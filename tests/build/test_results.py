"""The table of every number: what stands in it, in which unit, and that equal records give equal bytes."""

import csv
import gzip
from pathlib import Path

import pytest

from maskprior.analysis.records import load_target
from maskprior.build.results import COLUMNS, main, packed, unit
from maskprior.config.settings import read_settings
from maskprior.runs.record import read_record
from tests.constructed_runs import WriteRun


def read(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(gzip.decompress(content).decode().splitlines()))


def test_every_number_is_a_line_with_its_run_its_unit_and_its_record(project: Path, write_run: WriteRun) -> None:
    path = write_run("2parity", "default+position18", 1, {"test_loss": 0.1 + 0.2, "test_accuracy": 75.0})
    write_run("2parity", "mask", 0, {"test_loss": 1.0}, diverged=True)
    write_run("addition", "mask", 0, {"test_loss": 2.0}, scale="paper")
    assert main([str(project / "results.csv.gz"), "--scale", "reduced", "--seeds", "2"]) == 0
    found = read((project / "results.csv.gz").read_bytes())
    assert tuple(found[0]) == COLUMNS
    mine = {row["metric"]: row for row in found if row["variant"] == "position18"}
    assert mine["test_loss"] == {
        "experiment": "boolean", "task": "2parity", "method": "default", "variant": "position18", "scale": "reduced",
        "seed": "1", "metric": "test_loss", "value": "0.30000000000000004", "unit": "mean squared error",
        "record": path.relative_to(project).as_posix(), "fingerprint": read_record(path).fingerprint.digest,
        "status": "completed", "device": "", "seconds": "1.0",
    }  # fmt: skip
    assert mine["test_accuracy"]["unit"] == "percent"
    assert mine["strength_final"]["value"] == "1.0"
    diverged = [row for row in found if row["status"] == "diverged"]
    assert [(row["method"], row["metric"], row["value"]) for row in diverged] == [("mask", "", "")]
    assert {row["unit"] for row in found if row["scale"] == "paper" and row["metric"] == "test_loss"} == {
        "nats per digit"
    }


def test_equal_records_give_equal_bytes(write_run: WriteRun) -> None:
    write_run("2parity", "mask", 0, {"test_loss": 1.0})
    entries = load_target("table1", read_settings())
    content = packed(entries)
    assert content[4:8] == bytes(4)  # no time in the header
    assert packed(load_target("table1", read_settings())) == content


@pytest.mark.parametrize(
    ("experiment", "metric", "expected"),
    [
        ("language", "test_perplexity_exact", "perplexity"),
        ("language", "train_loss", "nats per token"),
        ("vision", "mask_open_decay_only", "nats"),
        ("vision", "mask_final", "cosine"),
        ("boolean", "mask_retention", "share of the start"),
        ("boolean", "best_step", "steps"),
        ("boolean", "unseen_mean_prediction", ""),
    ],
)
def test_units(experiment: str, metric: str, expected: str) -> None:
    assert unit(experiment, metric) == expected


def test_a_wrong_setting_is_one_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(project / "results.csv.gz"), "--seeds", "0"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
