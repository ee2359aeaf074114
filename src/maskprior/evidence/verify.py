"""Are the records there and intact?"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from maskprior import paths
from maskprior.errors import DATA, UserError
from maskprior.evidence.dvc import pointer
from maskprior.runs.fingerprint import Fingerprint, canonical_hash, fingerprint
from maskprior.runs.manifest import (
    check_stated,
    manifest_file,
    problems,
    published_folder,
    published_folders,
    published_records,
)
from maskprior.runs.record import RESTORE, Record, read_arrays, read_record
from maskprior.runs.spec import Run
from maskprior.runs.store import folder, record_path, relative

STALE = "of other code or configuration; re-stamp it with `maskprior rekey`"


def check_record(path: Path) -> Record:
    """The record at `path`, intact: valid finite JSON, its arrays' sha256, its fingerprint, its name, its place.

    UserError (exit code 3) says what is wrong and what to do.
    """
    record = read_record(path)
    read_arrays(path, record)
    stamp = record.fingerprint
    if Fingerprint(stamp.config, stamp.data, stamp.code).digest != stamp.digest:
        raise _corrupt(path, "its fingerprint's digest is not the hash of its parts")
    if canonical_hash(record.config) != stamp.config:
        raise _corrupt(path, "its configuration is not the one its fingerprint says")
    run = record.run
    place = f"{run.scale}/{run.cell}/seed{run.seed}-{stamp.digest[:8]}.json"
    if not path.as_posix().endswith(f"/{place}"):
        raise _corrupt(path, f"it belongs to {place}")
    return record


def check_published(run: Run) -> Record:
    """The published record of a run on the current code, intact. UserError (exit code 3) if not."""
    return _check_current(run, "published")


def check_local(run: Run) -> Record:
    """The local record of a run on the current code, intact. UserError (exit code 3) if not."""
    return _check_current(run, "local")


def verify_all(target: str, runs: list[Run]) -> None:
    """Print each published record that is damaged, missing or foreign, and each of `runs` that has none.

    The target `all` means every record that is published, at every scale; another target means its own runs. What is
    published is what the manifests state. At the paper's scale no run has to be published: most have not been made.
    UserError (exit code 3) if there is anything to print, or nothing to verify.
    """
    everything = target == "all"
    place = _places()
    own = {place(run): run for run in runs}
    among = {published_folder(run.scale, run.experiment) for run in runs}
    lines: dict[Path, str] = {}
    stated: list[Path] = []
    damaged: set[Path] = set()
    for where in sorted({*published_folders(), *among} if everything else among):
        if not _was_published(where):
            continue
        try:
            found, records = problems(where), published_records(where)
        except UserError as error:
            lines[where] = str(error)
            continue
        stated += [record for record in records if everything or record in own]
        for problem in found:
            record = problem.path.with_suffix(".json")
            if everything or record in own:
                lines[problem.path] = str(problem)
                damaged.add(record)
    # A record of other code is no damage, but no table shows it.
    current = {record: _current(record, place) for record in stated if record not in own}
    lines |= {
        record: f"{relative(record)}: {STALE}"
        for record, path in current.items()
        if record != path and record not in damaged
    }
    for path, run in own.items():
        known = path in stated or path in current.values() or published_folder(run.scale, run.experiment) in lines
        if not known and run.scale != "paper":
            lines[path] = str(_missing(run, path, "published"))
    if not stated and not lines:
        raise UserError(f"{target}: has no published record here, so there is nothing to verify", DATA)
    for line in lines.values():
        print(line)
    intact = sum(record not in damaged for record in stated)
    told = f"{intact} of {len(stated)} published records ({_by_scale(stated)}) are there and intact"
    if lines:
        raise UserError(f"{told}; {len(lines)} problems are named above", DATA)
    print(told)


def _was_published(where: Path) -> bool:
    return any(path.exists() for path in (where, manifest_file(where), pointer(where)))


def _places() -> Callable[[Run], Path]:
    """Where a run's published record lies: `record_path`, with one fingerprint for all seeds of a cell."""
    fingerprints: dict[Run, str] = {}

    def place(run: Run) -> Path:
        cell = replace(run, seed=0)
        if cell not in fingerprints:
            fingerprints[cell] = fingerprint(cell).short
        return folder(run, "published") / f"seed{run.seed}-{fingerprints[cell]}.json"

    return place


def _current(record: Path, place: Callable[[Run], Path]) -> Path | None:
    """Where the record of the same run lies if the current code and configuration made it; None if it is no run now."""
    scale, experiment, task, method, name = record.relative_to(paths.results("published")).parts
    try:
        seed = int(name.split("-")[0].removeprefix("seed"))
        return place(Run(experiment, task, *method.partition("+")[::2], scale, seed))
    except (UserError, ValueError):
        return None


def _by_scale(records: list[Path]) -> str:
    """`545 reduced, 58 paper`."""
    counts = Counter(record.relative_to(paths.results("published")).parts[0] for record in records)
    return ", ".join(f"{count} {scale}" for scale, count in counts.most_common())


def command(run: Run) -> str:
    """The command that trains the run."""
    return f"maskprior run {run.experiment} {run.task} {run.method_variant} --seed {run.seed} --scale {run.scale}"


def stale_records(path: Path) -> list[Path]:
    """Records of the same run, beside `path`, of other code, data or configuration."""
    seed = path.name.split("-")[0]
    return [other for other in sorted(path.parent.glob(f"{seed}-*.json")) if other != path]


def _check_current(run: Run, kind: str) -> Record:
    path = record_path(run, kind)
    if not path.exists():
        raise _missing(run, path, kind)
    if kind == "published":
        check_stated(path)
    record = check_record(path)
    if record.fingerprint.digest != fingerprint(run).digest:
        raise _corrupt(path, "its fingerprint only begins like the current one")
    return record


def _missing(run: Run, path: Path, kind: str) -> UserError:
    train = f"train it with `{command(run)}`"
    if stale := stale_records(path):
        names = ", ".join(other.name for other in stale)
        remedy = f"re-stamp it with `maskprior rekey`, or {train}"
        return UserError(f"{relative(path)}: missing, only {names} of other code or configuration; {remedy}", DATA)
    remedy = f"restore it with `maskprior restore`, or {train}" if kind == "published" else train
    return UserError(f"{relative(path)}: missing; {remedy}", DATA)


def _corrupt(path: Path, problem: str) -> UserError:
    return UserError(f"{relative(path)}: corrupt record ({problem}); {RESTORE}", DATA)
