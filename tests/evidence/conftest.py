"""Two real smoke records, a small project and its golden records."""

import shutil
from pathlib import Path

import pytest
import yaml

from maskprior import paths
from maskprior.config.settings import Settings
from maskprior.evidence.golden import golden_file, write_golden
from maskprior.runs.spec import make_run
from tests.hand_made_records import SOURCE, make_record, project, run
from tests.repository import repository, template

__all__ = ["make_record", "project", "repository", "run", "template"]


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
