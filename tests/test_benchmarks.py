"""The benchmarks: the page says what was measured, and the projects that they make are whole."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from maskprior import paths
from tests.repository import SOURCE


@pytest.fixture(scope="module")
def measure() -> ModuleType:
    spec = importlib.util.spec_from_file_location("measure", SOURCE / "benchmarks" / "measure.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_says_what_was_measured(measure: ModuleType) -> None:
    _, _, rest = measure.PAGE.read_text().partition(measure.BEGIN)
    shown, _, _ = rest.partition(measure.END)
    assert shown.strip() == measure.page(json.loads(measure.MEASURED.read_text())).strip()


def test_a_command_is_measured_with_all_that_it_starts(measure: ModuleType, tmp_path: Path) -> None:
    # A child that takes half a second of a processor and 200 MiB.
    lines = (
        "import time",
        "kept = bytearray(200 * 2**20)",
        "while time.process_time() < 0.5:",
        "    pass",
    )
    (tmp_path / "child.py").write_text("\n".join(lines))
    found = measure.timed(f"{sys.executable} child.py; true", tmp_path)
    assert found["cpu"] >= 0.5
    assert found["mib"] >= 200


def test_a_command_that_fails_ends_the_benchmark(measure: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="echo why"):
        measure.timed("echo why; exit 3", tmp_path)


def test_made_records_are_whole(tmp_path: Path) -> None:
    if not any((paths.results("published") / "reduced" / "boolean").glob("2parity/mask/seed0-*.json")):
        pytest.skip("the published records are not restored here")
    shutil.copytree(SOURCE / "config", tmp_path / "config")
    script = [sys.executable, str(SOURCE / "benchmarks" / "records.py"), "7"]
    subprocess.run([*script, str(SOURCE / "results"), str(tmp_path / "results")], check=True)
    verify = [sys.executable, "-m", "maskprior", "verify", "boolean/2parity/mask/seed0", "--scale", "reduced"]
    told = subprocess.run(verify, env=os.environ | {"MASKPRIOR_ROOT": str(tmp_path)}, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
    assert len(list((tmp_path / "results").rglob("seed*.json"))) == 7
