"""Are the records there and intact?"""

from pathlib import Path

from maskprior.errors import DATA, UserError
from maskprior.runs.fingerprint import Fingerprint, canonical_hash, fingerprint
from maskprior.runs.record import RESTORE, Record, read_arrays, read_record
from maskprior.runs.spec import Run
from maskprior.runs.store import record_path, relative


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


def verify_all(runs: list[Run]) -> None:
    """Print each published record of `runs` that is missing or corrupt. UserError (exit code 3) if there is one."""
    bad = 0
    for run in runs:
        try:
            check_published(run)
        except UserError as error:
            bad += 1
            print(error)
    if bad:
        raise UserError(f"{bad} of {len(runs)} published records are missing or corrupt; each is named above", DATA)
    print(f"{len(runs)} published records are there and intact")


def command(run: Run) -> str:
    """The command that trains the run."""
    return f"maskprior run {run.experiment} {run.task} {run.method_variant} --seed {run.seed} --scale {run.scale}"


def stale_records(path: Path) -> list[Path]:
    """Records of the same run, beside `path`, of other code, data or configuration."""
    seed = path.name.split("-")[0]
    return [other for other in sorted(path.parent.glob(f"{seed}-*.json")) if other != path]


def _check_current(run: Run, kind: str) -> Record:
    path = record_path(run, kind)
    if not path.exists() and (stale := stale_records(path)):
        names = ", ".join(other.name for other in stale)
        remedy = f"re-stamp it with `maskprior rekey`, or train it with `{command(run)}`"
        raise UserError(f"{relative(path)}: missing, only {names} of other code or configuration; {remedy}", DATA)
    if not path.exists():
        train = f"train it with `{command(run)}`"
        remedy = f"restore it with `dvc pull`, or {train}" if kind == "published" else train
        raise UserError(f"{relative(path)}: missing; {remedy}", DATA)
    record = check_record(path)
    if record.fingerprint.digest != fingerprint(run).digest:
        raise _corrupt(path, "its fingerprint only begins like the current one")
    return record


def _corrupt(path: Path, problem: str) -> UserError:
    return UserError(f"{relative(path)}: corrupt record ({problem}); {RESTORE}", DATA)
