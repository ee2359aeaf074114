"""From local to published: verify, copy, hand to DVC. The only way into the evidence."""

import configparser
import json
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

from maskprior import paths
from maskprior.errors import DATA, UserError
from maskprior.evidence.verify import check_local, stale_records
from maskprior.runs.record import copy_record, remove_record
from maskprior.runs.spec import Run
from maskprior.runs.store import record_path, relative


def publish(runs: list[Run], *, replace: bool, dvc: bool, smoke: bool) -> None:
    """Copy the local records of `runs` to results/published and print what to commit.

    All are verified before the first is copied. A record that is published already stays, unless `replace`: then the
    local one takes its place, and records of other code of the same runs go. Smoke records need `smoke`.
    """
    if not smoke and any(run.scale == "smoke" for run in runs):
        raise UserError(
            "scale: smoke records say nothing about the science; publish them with an explicit --scale smoke"
        )
    there = [run for run in runs if record_path(run, "local").exists()]
    for run in there:
        check_local(run)
    new = [run for run in there if replace or not record_path(run, "published").exists()]
    folders = sorted({published_folder(run.scale, run.experiment) for run in there})
    if dvc:
        check_complete(folders)
    stale = 0
    for run in new:
        path = record_path(run, "published")
        copy_record(record_path(run, "local"), path)
        for other in stale_records(path):
            stale += 1
            if replace:
                remove_record(other)
    print(
        f"{len(runs)} runs: {len(new)} records published, {len(there) - len(new)} published already, "
        f"{len(runs) - len(there)} without a local record"
    )
    if stale:
        print(
            f"{stale} records of other code of these runs " + ("removed" if replace else "stay; --replace removes them")
        )
    if dvc:
        track(folders)


def published_folder(scale: str, experiment: str) -> Path:
    return paths.results("published") / scale / experiment


def check_complete(folders: list[Path]) -> None:
    """UserError (exit code 3) if DVC tracks files that are not here: tracking the folders again would lose them."""
    tracked = [folder for folder in folders if pointer(folder).exists()]
    if not tracked:
        return
    status = json.loads(_dvc("data", "status", "--granular", "--json", *[str(folder) for folder in tracked]))
    deleted = [paths.root() / name for name in status.get("uncommitted", {}).get("deleted", [])]
    # A record that another one of the same run replaced is gone for a reason.
    lost = [relative(path) for path in deleted if path.suffix == ".json" and not stale_records(path)]
    if lost or any(not folder.exists() for folder in tracked):
        what = lost[0] if lost else relative(tracked[0])
        raise UserError(f"{what}: published and not here; restore all with `dvc pull` before you publish", DATA)


def track(folders: list[Path]) -> None:
    """`dvc add` and `dvc push` the folders, one DVC at a time, and print what to commit."""
    for folder in folders:
        for leftover in folder.rglob(".*"):  # of a copy that was interrupted
            leftover.unlink()
    if not folders:
        return
    _dvc("add", *[str(folder) for folder in folders])
    _dvc("push", *[str(pointer(folder)) for folder in folders])
    names = [relative(file) for file in (*map(pointer, folders), *_remote_in_project())]
    print(f"tracked and pushed; commit it with: git add {' '.join(names)} && git commit")


def pointer(folder: Path) -> Path:
    """The file in git that says what DVC keeps of `folder`."""
    return folder.with_name(f"{folder.name}.dvc")


def _remote_in_project() -> list[Path]:
    """The default remote, where it is a folder of the project and thus part of the commit."""
    config = configparser.ConfigParser()
    config.read(paths.root() / ".dvc" / "config")
    name = config.get("core", "remote", fallback="")
    url = config.get(f"'remote \"{name}\"'", "url", fallback="")
    folder = (paths.root() / ".dvc" / url).resolve()
    return [folder] if url and folder.is_relative_to(paths.root().resolve()) else []


def _dvc(*arguments: str) -> str:
    """The output of one DVC command. UserError with DVC's own last line if it fails."""
    if not (paths.root() / ".dvc").is_dir():
        raise UserError("this folder is not a DVC repository; publish with --no-dvc, or call `dvc init` first")
    # DVC refuses to start while another one runs; ours wait for one another instead.
    lock = paths.root() / ".dvc" / "tmp" / "maskprior.lock"
    lock.parent.mkdir(exist_ok=True)
    with FileLock(lock):
        done = subprocess.run(
            [sys.executable, "-m", "dvc", *arguments], cwd=paths.root(), capture_output=True, text=True, check=False
        )
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise UserError(f"dvc {arguments[0]} failed: {last}", DATA)
    return done.stdout
