"""Arithmetic's Table 2 with one task and two methods, on constructed records."""

from pathlib import Path

import pytest
import yaml

from maskprior.config.settings import Settings, read_settings
from tests.constructed_runs import WriteRun


@pytest.fixture
def table2_settings(project: Path) -> Settings:
    """Two seeds of arithmetic's Table 2 with one task and two methods."""
    path = project / "config" / "experiments" / "arithmetic.yaml"
    file = yaml.safe_load(path.read_text())
    file["targets"] = {"table2": {"tasks": ["addition"], "methods": ["default", "mask"]}}
    path.write_text(yaml.safe_dump(file, sort_keys=False))
    return read_settings({"seeds": 2})


def write_table2(write_run: WriteRun, scale: str = "paper") -> None:
    for seed, (default, mask) in enumerate([(1.0, 70.0), (2.0, 74.0)]):
        for method, value in (("default", default), ("mask", mask)):
            metrics = {"sequence_accuracy": value, "digit_accuracy": 50.0, "test_loss": 1.0}
            write_run("addition", method, seed, metrics, scale=scale)
