"""A small copy of the project with a few real smoke records, published with the real DVC; tests clone it."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from project import Project, copy_sources, write_yaml

STEPS = 4
# One process, since starting one costs more than such a run.
TRAIN_ALL = """
from maskprior.runs.environment import pin
pin()
from maskprior.config.settings import read_settings
from maskprior.experiments.run import execute
from maskprior.runs.spec import planned_runs
for run in planned_runs("all", read_settings()):
    execute(run, device="cpu")
"""


@pytest.fixture(scope="session")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project at smoke scale with one seed and a few steps a run; every run of every target is published."""
    project = Project(tmp_path_factory.mktemp("origin"))
    copy_sources(project.folder)
    write_yaml(project.folder / "config" / "config.yaml", scale="smoke", seeds=1, device="cpu")
    for file in (project.folder / "config" / "experiments").glob("*.yaml"):
        scales = yaml.safe_load(file.read_text())["scales"]
        write_yaml(file, scales=scales | {"smoke": shortened(scales["smoke"])})
    project.call("git", "init", "--quiet", "--initial-branch", "main")
    project.commit("Start")
    project.call("python", "-c", TRAIN_ALL)
    project.maskprior("publish", "--scale", "smoke")
    shutil.rmtree(project.folder / "results" / "local")
    project.commit("Publish")
    return project


def shortened(section: dict[str, object]) -> dict[str, object]:
    """A section of a configuration in which nothing takes more than STEPS steps."""
    return {
        key: shortened(value) if isinstance(value, dict) else STEPS if key == "steps" else value
        for key, value in section.items()
    }


@pytest.fixture
def clone(origin: Project, tmp_path: Path) -> Project:
    """A fresh clone with the published records pulled."""
    return origin.clone(tmp_path / "clone")


@pytest.fixture
def without(tmp_path: Path) -> Callable[[str], str]:
    """A PATH on which everything is found as before but for the programs whose names begin with a word."""

    def make(word: str) -> str:
        folder = tmp_path / f"without-{word}"
        folder.mkdir()
        for place in [str(Path(sys.executable).parent), *os.environ["PATH"].split(os.pathsep)]:
            for program in Path(place).glob("*") if Path(place).is_dir() else ():
                link = folder / program.name
                if not program.name.startswith(word) and not link.is_symlink():
                    link.symlink_to(program)
        return str(folder)

    return make
