"""A folder with the project in it, and the commands people type there."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Project:
    """A copy of the project in `folder`."""

    folder: Path

    def call(self, *words: str, expect: int = 0, **variables: str) -> str:
        """stdout and stderr of a command that must end with exit code `expect`."""
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=environment(self.folder) | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == expect, f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout[-6000:]}"
        return done.stdout

    def maskprior(self, *words: str, expect: int = 0) -> str:
        return self.call("python", "-m", "maskprior", *words, expect=expect)

    def snakemake(self, *words: str, expect: int = 0, **variables: str) -> str:
        return self.call("snakemake", "--cores", "1", *words, expect=expect, **variables)

    def planned(self, target: str = "all") -> dict[str, int]:
        """Rule -> number of jobs that `snakemake -n target` would run."""
        jobs = re.search(r"^job +count\n-.*\n((?:\S+ +\d+\n)+)", self.snakemake("-n", target), re.MULTILINE)
        counts = (line.split() for line in jobs.group(1).splitlines()) if jobs else ()
        return {rule: int(count) for rule, count in counts}

    def records(self, kind: str) -> set[Path]:
        return set((self.folder / "results" / kind).rglob("*.json"))

    def commit(self, message: str) -> None:
        self.call("git", "add", "--all")
        self.call("git", "commit", "--quiet", "--allow-empty", "--message", message)

    def clone(self, folder: Path, *, pull: bool = True) -> "Project":
        self.call("git", "clone", "--quiet", str(self.folder), str(folder))
        copy = Project(folder)
        if pull:
            copy.call("dvc", "pull", "--quiet")
        return copy


def environment(folder: Path) -> dict[str, str]:
    """The environment of a person in `folder` who has activated the full environment, and nothing else of ours."""
    foreign = ("MASKPRIOR_", "PYTEST_", "PYTHON", "SNAKEMAKE_", "MAKE", "MFLAGS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return kept | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(folder / "src"),
        "DVC_NO_ANALYTICS": "1",
        "DVC_SITE_CACHE_DIR": str(folder / ".dvc" / "tmp" / "site"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{who}_{what}": "test@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }


def copy_sources(folder: Path) -> None:
    """What a clone of the working tree would hold: tracked files and new ones that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in set(filter(None, listed.stdout.split("\0"))):
        source, target = HERE / name, folder / name
        # Published records and their cache are the evidence; this copy makes its own.
        if name.startswith(("artifacts/", "results/")) or not (source.exists() or source.is_symlink()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)


def write_yaml(file: Path, **changed: object) -> None:
    """Replace top-level keys of a YAML file."""
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | changed, sort_keys=False))
