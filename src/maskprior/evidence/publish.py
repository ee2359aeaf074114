"""From local to published: verify, copy, state in the manifest, hand to DVC. The only way into the evidence."""

from pathlib import Path

from maskprior.errors import DATA, UserError
from maskprior.evidence import dvc as store
from maskprior.evidence.verify import check_local, stale_records
from maskprior.runs.manifest import is_stated, manifest_file, problems, published_folder, state_record
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
    new = [run for run in there if replace or not is_stated(record_path(run, "published"))]
    folders = sorted({published_folder(run.scale, run.experiment) for run in there})
    check_complete(folders, new)
    stale = 0
    for run in new:
        path = record_path(run, "published")
        copy_record(record_path(run, "local"), path)
        state_record(path)
        for other in stale_records(path):
            stale += 1
            if replace:
                remove_record(other)
                state_record(other)
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


def check_complete(folders: list[Path], new: list[Run] | None = None) -> None:
    """UserError (exit code 3) unless all published files are here as they were published.

    Otherwise what was lost or changed here would be lost or changed for everybody. The records of the runs `new` are
    about to be written, and may be there already where an earlier try was interrupted.
    """
    records = [record_path(run, "published") for run in new or ()]
    expected = {file for path in records for file in (path, path.with_suffix(".safetensors"))}
    for folder in folders:
        if not manifest_file(folder).exists() and not store.pointer(folder).exists():
            continue
        for problem in problems(folder):
            # Hidden files are leftovers of a copy that was interrupted.
            if problem.path not in expected and not problem.path.name.startswith("."):
                raise UserError(f"{problem}; nothing is published before that", DATA)


def track(folders: list[Path]) -> None:
    """`dvc add` and `dvc push` the folders, clear the remote of what is left over, and print what to commit."""
    for folder in folders:
        for leftover in folder.rglob(".*"):  # of a copy that was interrupted
            leftover.unlink()
    if not folders:
        return
    if not store.is_repository():
        raise UserError("this folder is not a DVC repository; publish with --no-dvc, or call `dvc init` first")
    store.call("add", *[str(folder) for folder in folders])
    store.call("push", *[str(store.pointer(folder)) for folder in folders])
    remote = store.remote_in_project()
    if gone := store.prune():
        print(f"{gone} objects that nothing refers to any more removed from the remote")
    files = [*map(store.pointer, folders), *map(manifest_file, folders), *([remote.folder] if remote else [])]
    print(f"tracked and pushed; commit it with: git add {' '.join(map(relative, files))} && git commit")
