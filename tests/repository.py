"""A small project as a real git and DVC repository with a remote inside."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1]


def call(folder: Path, *words: str) -> str:
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout


def dvc(folder: Path, *words: str) -> str:
    return call(folder, sys.executable, "-m", "dvc", *words)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty git and DVC repository with a remote inside."""
    folder = tmp_path_factory.mktemp("template")
    call(folder, "git", "init", "--quiet")
    call(folder, "git", "config", "user.name", "Somebody")
    call(folder, "git", "config", "user.email", "somebody@example.org")
    dvc(folder, "init", "--quiet")
    with (folder / ".dvc" / "config").open("a") as config:
        config.write("[core]\n    analytics = false\n    remote = inside\n")
        config.write("['remote \"inside\"']\n    url = ../artifacts/dvc-remote\n")
    return folder


@pytest.fixture
def repository(project: Path, template: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project as a git and DVC repository with a remote inside."""
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(project.parent / "site"))
    shutil.copytree(template, project, dirs_exist_ok=True)
    for name in (".gitignore", ".gitattributes"):
        shutil.copy(SOURCE / name, project)
    commit(project)
    return project


def commit(folder: Path) -> None:
    call(folder, "git", "add", "--all")
    call(folder, "git", "commit", "--quiet", "--allow-empty", "--message", "Publish")
