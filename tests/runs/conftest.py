"""A project folder of its own for every test, records with hand-made numbers, and two real smoke records."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from maskprior import paths
from maskprior.config.settings import Settings
from maskprior.runs.fingerprint import fingerprint
from maskprior.runs.golden import golden_file, write_golden
from maskprior.runs.record import Record, pack_arrays, stamp, write_record
from maskprior.runs.spec import Run, make_run, resolve
from maskprior.runs.store import record_path

SOURCE = Path(__file__).resolve().parents[2]
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
def small(project: Path) -> Path:
    """The project with one task, two methods and one variant."""
    edit(project, tasks=["2parity"], methods=["default", "mask"])
    return project


def edit(project: Path, *, tasks: list[str], methods: list[str]) -> None:
    """Leave only these tasks and methods, and one target with a variant."""
    path = project / "config" / "experiments" / "boolean.yaml"
    file = yaml.safe_load(path.read_text())
    file["tasks"] = {task: file["tasks"][task] for task in tasks}
    file["methods"] = {method: file["methods"][method] for method in methods}
    file["targets"] = {"table1": {"methods": [*methods, "mask+hadamard"]}}
    path.write_text(yaml.safe_dump(file))


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
        return path

    return make


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """results/local of a project that trained boolean/2parity/mask at smoke scale with seeds 0 and 1."""
    from maskprior.experiments.run import execute

    folder = tmp_path_factory.mktemp("trained")
    shutil.copytree(SOURCE / "config", folder / "config")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASKPRIOR_ROOT", str(folder))
        for seed in (0, 1):
            execute(make_run("boolean", "2parity", "mask", scale="smoke", seed=seed), device="cpu")
    return folder / "results" / "local"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package that fingerprints are taken from; what runs is still the original."""
    copy = tmp_path / "maskprior"
    shutil.copytree(paths.package(), copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(paths, "package", lambda: copy)
    return copy


@pytest.fixture
def settings() -> Settings:
    return Settings(scale="smoke", seeds=2, device="cpu", recompute=False)


@pytest.fixture(scope="session")
def golden_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The golden records of the small project."""
    from maskprior.experiments.run import execute

    folder = tmp_path_factory.mktemp("golden")
    shutil.copytree(SOURCE / "config", folder / "config")
    edit(folder, tasks=["2parity"], methods=["default", "mask"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASKPRIOR_ROOT", str(folder))
        write_golden("boolean", execute)
        return golden_file("boolean").read_text()


@pytest.fixture
def golden(small: Path, golden_text: str) -> Path:
    """The golden file of the small project, in its place."""
    path = golden_file("boolean")
    path.parent.mkdir(parents=True)
    path.write_text(golden_text)
    return path
