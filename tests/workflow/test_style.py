"""The workflow's own hygiene: snakemake's and snakefmt's judgement, import contracts, profiles, locks, torch."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from project import HERE, Project

from maskprior.build.versions import differences, locked_versions

pytestmark = pytest.mark.workflow
HERE_PROJECT = Project(HERE)
TORCH_FREE = ("config", "runs", "evidence", "analysis", "report", "build", "datasets.registry", "cli")


def test_snakemake_lint_is_content() -> None:
    HERE_PROJECT.snakemake("--lint")


@pytest.mark.parametrize("command", ["snakefmt --check Snakefile workflow", "lint-imports --no-cache"])
def test_check_passes(command: str) -> None:
    HERE_PROJECT.call(*command.split())


@pytest.mark.parametrize("name", ["slurm", "kubernetes"])
def test_profile_plans_the_same_jobs(origin: Project, tmp_path: Path, name: str) -> None:
    """All of a cluster profile but what belongs to the executor's plugin, which is not installed here."""
    profile = yaml.safe_load((HERE / "workflow" / "profiles" / name / "profile.yaml").read_text())
    options = HERE_PROJECT.snakemake("--help")
    of_plugins = {"executor", "default-storage-provider"}
    assert all(f"--{key} " in options or f"--{key}\n" in options for key in profile.keys() - of_plugins)
    for key in of_plugins | {"shared-fs-usage", "envvars", "use-conda", "job-deploy-sources"}:
        profile.pop(key, None)
    (tmp_path / "profile.yaml").write_text(yaml.safe_dump(profile))
    told = origin.snakemake("-n", "all", "--profile", str(tmp_path), "--config", "recompute=true")
    training = re.findall(r"^rule train:\n(?:    .*\n)*", told, re.MULTILINE)
    assert len(training) == 0 or all("gpu=1" in job for job in training)
    assert told.count(": train ") == len(origin.records("published"))


def test_a_reader_needs_no_torch() -> None:
    """Importing every module of the torch-free rooms imports no torch."""
    modules = [
        ".".join(path.relative_to(HERE / "src").with_suffix("").parts).removesuffix(".__init__")
        for path in (HERE / "src").rglob("*.py")
    ]
    free = [module for module in modules if module.startswith(tuple(f"maskprior.{room}" for room in TORCH_FREE))]
    assert len(free) > 15
    program = "import sys\nfor name in sys.argv[1:]: __import__(name)\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program, *free], check=True)


@pytest.mark.parametrize("lock", ["report.txt", "train.txt", "datasets.txt"])
def test_this_environment_is_the_locked_one(lock: str) -> None:
    assert differences(HERE / "requirements" / lock) == []


def test_differences_from_a_lock_are_named(tmp_path: Path) -> None:
    numpy = locked_versions(HERE / "requirements" / "report.txt")["numpy"]
    lock = tmp_path / "lock.txt"
    lock.write_text(
        "numpy==1.0 \\\n    --hash=sha256:00\nno-such-package==2.0 ; sys_platform != 'none' \\\n    --hash=sha256:00\n"
        "other-system==3.0 ; sys_platform == 'none' \\\n    --hash=sha256:00\n"
    )
    assert differences(lock) == [f"numpy {numpy} (locked: 1.0)", "no-such-package missing (locked: 2.0)"]


def test_the_workflow_warns_of_other_versions_than_the_locked_ones(clone: Project) -> None:
    lock = clone.folder / "requirements" / "report.txt"
    lock.write_text(re.sub(r"^numpy==\S+", "numpy==1.0", lock.read_text(), flags=re.MULTILINE))
    table = clone.folder / "config" / "notebooks.yaml"
    (clone.folder / "notebooks" / "short.py").write_text("# %%\nopen('paper/generated/short.tex', 'w').close()\n")
    table.write_text("short: {targets: [short], records: [], outputs: [paper/generated/short.tex]}\n")
    warnings = [line for line in clone.snakemake("short").splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 1
    assert "requirements/report.txt: numpy" in warnings[0]
    assert "`make reproduce`" in warnings[0]
