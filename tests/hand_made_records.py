"""A project folder of its own for every test, and records with hand-made numbers."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskprior.runs.fingerprint import fingerprint
from maskprior.runs.manifest import state_record
from maskprior.runs.record import Record, pack_arrays, stamp, write_record
from maskprior.runs.spec import Run, make_run, resolve
from maskprior.runs.store import record_path

SOURCE = Path(__file__).resolve().parents[1]
ENVIRONMENT = {
    "python": "3.11.7", "torch": "2.14.1", "numpy": "2.4.6", "platform": "Linux-x86_64", "device": "cpu-1",
    "threads": 1, "instruction_set": "AVX2", "deterministic": True, "pinned": {"OMP_NUM_THREADS": "1"}, "seconds": 1.5,
}  # fmt: skip

MakeRecord = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project with this one's configuration."""
    folder = tmp_path / "project"
    shutil.copytree(SOURCE / "config", folder / "config")
    monkeypatch.setenv("MASKPRIOR_ROOT", str(folder))
    return folder


@pytest.fixture
def run(project: Path) -> Run:
    return make_run("boolean", "2parity", "mask", scale="smoke")


@pytest.fixture
def make_record(project: Path) -> MakeRecord:
    """Writes a record of the current code with hand-made numbers; keyword arguments replace its fields."""

    def make(run: Run, kind: str = "local", **changes: Any) -> Path:
        packed, digest = pack_arrays({"trace/step": np.arange(3), "trace/test_loss": np.array([1.0, 0.5, 0.1])})
        record = Record(
            **{
                "run": run,
                "fingerprint": stamp(fingerprint(run)),
                "status": "completed",
                "metrics": {"test_loss": 0.1, "test_accuracy": 75.0, "best_step": 40.0},
                "reference": {"mdi_test_loss": 4.0},
                "loss_head": [1.25, 1.0, 0.1],
                "labels": {},
                "config": resolve(run).model_dump(),
                "environment": ENVIRONMENT,
                "arrays_sha256": digest,
            }
            | changes
        )
        path = record_path(run, kind)
        write_record(path, record, packed)
        if kind == "published":
            state_record(path)
        return path

    return make
