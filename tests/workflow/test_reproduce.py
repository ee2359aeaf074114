"""`make reproduce` as a reader types it, and the paper it ends with."""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from project import Project

from maskprior.build import pdf
from maskprior.config.base import Scale

pytestmark = pytest.mark.workflow
needs_latex = pytest.mark.skipif(shutil.which("latexmk") is None, reason="LaTeX (latexmk) is not installed")
PDF = Path("paper") / "main.pdf"


@pytest.fixture(scope="module")
def reproduced(origin: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, str]:
    """A clone after `make reproduce`, and what that printed."""
    clone = origin.clone(tmp_path_factory.mktemp("reproduced") / "clone", pull=False)
    install(clone)
    return clone, clone.call("make", "reproduce")


def install(project: Project) -> None:
    """The environment of the tests in the place of the reading one, as if `make` had installed it just now."""
    place = project.folder / ".venv" / "report"
    place.mkdir(parents=True)
    for part in Path(sys.prefix).iterdir():
        if part.name != ".installed":
            (place / part.name).symlink_to(part)
    (place / ".installed").touch()


@needs_latex
def test_everything_is_there_and_nothing_was_trained(reproduced: tuple[Project, str]) -> None:
    project, told = reproduced
    assert not project.records("local")
    assert (project.folder / PDF).read_bytes().startswith(b"%PDF")
    outputs = re.findall(r"paper/generated/[\w.]+", (project.folder / "config" / "notebooks.yaml").read_text())
    assert outputs
    for file in [*outputs, "build/report.html"]:
        assert (project.folder / file).stat().st_size > 0, file
    for place in (str(PDF), "paper/generated/*.tex", "build/report.html", "claims"):
        assert place in told


@needs_latex
def test_the_report_loads_nothing_from_elsewhere(reproduced: tuple[Project, str]) -> None:
    html = (reproduced[0].folder / "build" / "report.html").read_text()
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=[\"']https?:", html)


@needs_latex
def test_a_second_call_rebuilds_nothing(reproduced: tuple[Project, str]) -> None:
    project, _ = reproduced
    assert project.planned() == {}


@needs_latex
def test_the_pdf_has_the_same_bytes_again_and_in_another_folder(
    reproduced: tuple[Project, str], tmp_path: Path
) -> None:
    project, _ = reproduced
    first = (project.folder / PDF).read_bytes()
    project.snakemake("--forcerun", "build_pdf", "--", "paper")
    assert (project.folder / PDF).read_bytes() == first
    elsewhere = copy(project, tmp_path / "a folder with a longer name")
    (elsewhere.folder / PDF).unlink()
    elsewhere.call("python", "-m", "maskprior.build.pdf", "build")
    assert (elsewhere.folder / PDF).read_bytes() == first


@needs_latex
def test_without_latex_the_cached_pdf_is_restored(
    reproduced: tuple[Project, str], tmp_path: Path, without: Callable[[str], str]
) -> None:
    project = copy(reproduced[0], tmp_path / "copy")
    built = (project.folder / PDF).read_bytes()
    project.call("python", "-m", "maskprior.build.pdf", "publish")
    shutil.rmtree(project.folder / "results" / "published" / "pdf")
    (project.folder / PDF).unlink()
    path = without("latexmk")
    told = project.snakemake("paper", PATH=path)
    assert "restored the PDF that was built from these same inputs; to build it here: apt-get install" in told
    assert (project.folder / PDF).read_bytes() == built
    # Other inputs: still the cached one, and it says which.
    source = project.folder / "paper" / "main.tex"
    source.write_text(source.read_text() + "% changed\n")
    assert "BUT its inputs differ: paper/main.tex;" in project.snakemake("paper", PATH=path)
    # LaTeX comes: the PDF is built, though no input is newer.
    assert "built with LaTeX" in project.snakemake("paper")


def test_without_latex_and_cache_the_remedy_is_named(clone: Project, without: Callable[[str], str]) -> None:
    for pointer in (clone.folder / "results" / "published").glob("pdf.dvc"):
        pointer.unlink()
    told = clone.call("python", "-m", "maskprior.build.pdf", "build", expect=3, PATH=without("latexmk"))
    assert "apt-get install texlive" in told


def test_a_missing_record_stops_before_anything_is_built(clone: Project) -> None:
    install(clone)
    cached = [path for path in (clone.folder / "artifacts" / "dvc-remote").rglob("*") if path.is_file()]
    for path in cached:
        if not path.name.endswith(".dir"):
            path.unlink()
    shutil.rmtree(clone.folder / ".dvc" / "cache")
    record = min(clone.records("published"))
    record.unlink()
    told = clone.call("make", "reproduce", expect=2)
    assert any(record.name in line and "git checkout" in line for line in told.splitlines())
    assert not (clone.folder / PDF).exists()
    assert not clone.records("local")


def test_the_pull_needs_no_git_repository(clone: Project) -> None:
    install(clone)
    shutil.rmtree(clone.folder / ".git")
    shutil.rmtree(clone.folder / "results" / "published" / "smoke" / "boolean")
    assert "published records (74 smoke) are there and intact" in clone.call("make", "restore")


@pytest.mark.parametrize("target", ["help", "reproduce", "setup", "test", "rerun-one", "lint", "clean"])
def test_make_knows_what_it_would_do(origin: Project, target: str) -> None:
    assert origin.call("make", "-n", target)


def copy(project: Project, folder: Path) -> Project:
    shutil.copytree(project.folder, folder, symlinks=True)
    return Project(folder)


def test_the_published_pdf_and_the_records_of_a_scale_never_share_a_folder() -> None:
    assert pdf._published().name not in get_args(Scale)
