"""What the code of an earlier commit gives: the other half of a comparison on one machine."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from maskprior import paths
from maskprior.errors import UserError
from maskprior.evidence.compare import Numbers, numbers
from maskprior.runs.record import read_record
from maskprior.runs.spec import Run

# Runs in a process of its own, on the earlier code: one line of JSON for each run.
SCRIPT = """
import json, sys
from maskprior.errors import UserError
from maskprior.experiments.run import execute
from maskprior.runs import environment
from maskprior.runs.fingerprint import fingerprint
from maskprior.runs.spec import parse_run
environment.pin()
for name, scale in json.load(sys.stdin):
    try:
        cell = name.rpartition("/")[0]
        digest = fingerprint(parse_run(name, scale=scale)).digest
        record = str(execute(parse_run(f"{cell}/seed0", scale="smoke"), device="cpu"))
    except UserError as error:
        digest, record = "", str(error)
    print(json.dumps([digest, record]), flush=True)
"""


@dataclass(frozen=True)
class Earlier:
    """A run by the earlier code: the identity it had, and what its cell gives at the scale smoke with seed 0."""

    digest: str
    smoke: Numbers | None


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """A commit's files in a folder of their own, with this project's data. UserError for an unknown commit."""
    with tempfile.TemporaryDirectory(prefix="maskprior-earlier-") as name:
        folder = Path(name) / "tree"
        _git("worktree", "add", "--quiet", "--detach", str(folder), revision)
        try:
            if paths.data().exists():
                (folder / "data").symlink_to(paths.data().resolve())
            yield folder
        finally:
            _git("worktree", "remove", "--force", str(folder))


def commit(revision: str) -> str:
    """The full hash of a commit."""
    return _git("rev-parse", "--verify", f"{revision}^{{commit}}").strip()


def run_earlier(folder: Path, runs: Sequence[Run]) -> Iterator[Earlier]:
    """Train each run's cell at the scale smoke with the code in `folder`, one after the other."""
    environment = {key: value for key, value in os.environ.items() if key != "MASKPRIOR_ROOT"}
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(folder / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write(json.dumps([[run.name, run.scale] for run in runs]))
        process.stdin.close()
        for line in process.stdout:
            digest, record = json.loads(line)
            yield Earlier(digest, numbers(read_record(Path(record))) if digest else None)
    if process.returncode:
        raise UserError(f"the code of the earlier commit stopped with exit code {process.returncode}; see above")


def _git(*words: str) -> str:
    result = subprocess.run(["git", *words], cwd=paths.root(), capture_output=True, text=True, check=False)
    if result.returncode:
        raise UserError(f"git {' '.join(words[:2])}: {result.stderr.strip().splitlines()[-1]}")
    return result.stdout
