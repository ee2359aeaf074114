"""Records whose code moved while their numbers did not get the fingerprint of the current code, with the evidence."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maskprior.config.settings import Settings
from maskprior.errors import DIFFERENCE, UserError
from maskprior.evidence import golden
from maskprior.evidence.parallel import in_order
from maskprior.evidence.publish import check_complete, track
from maskprior.evidence.verify import check_record
from maskprior.runs.environment import choose_device, describe, device_class
from maskprior.runs.fingerprint import fingerprint
from maskprior.runs.manifest import published_folder, state_record
from maskprior.runs.record import LOSS_HEAD, Record, Rekey, read_arrays, remove_record, stamp, write_record
from maskprior.runs.spec import Run, resolve
from maskprior.runs.store import relative, stored_records

Replay = Callable[..., list[float]]


@dataclass(frozen=True)
class Stale:
    """A record of other code than the current. `reason`: why it cannot be re-stamped; empty if it may be."""

    kind: str
    path: Path
    record: Record
    reason: str


def rekey(
    experiment: str, settings: Settings, *, replay: Replay, execute: golden.Execute, jobs: int = 1, dvc: bool = True
) -> None:
    """Re-stamp published and local records of an experiment whose numbers the current code still gives.

    A record qualifies when its configuration and data are the current ones and it was made on this device class; then
    the experiment's golden records must be unchanged, and the record's own first losses must replay, all bit for bit.
    What does not match stays and is named. UserError (exit code 4) if a golden record or a replay differs.
    """
    device = choose_device(settings.device)
    here = describe(device)
    stale = [found for kind in ("published", "local") for found in find_stale(kind, experiment, settings.scale, here)]
    for found in stale:
        if found.reason:
            print(f"{relative(found.path)}: stays: {found.reason}")
    candidates = [found for found in stale if not found.reason]
    if not candidates:
        print(f"{experiment} at scale {settings.scale}: {len(stale)} stale records, none to re-stamp")
        return
    published = [published_folder(settings.scale, experiment)] if any(c.kind == "published" for c in candidates) else []
    check_complete(published)
    print(f"{len(candidates)} records may be re-stamped if the golden records of {experiment} are unchanged")
    _check_golden(experiment, execute, jobs)
    print("replaying the first losses of each record")
    runs = list(dict.fromkeys(found.record.run for found in candidates))
    replays: dict[Run, list[float]] = {}
    for losses in in_order(functools.partial(replay, count=LOSS_HEAD, device=device), runs, jobs=jobs):
        replays[runs[len(replays)]] = losses
        print(f"[{len(replays)}/{len(runs)}] {runs[len(replays) - 1].name}", flush=True)
    moved = [found for found in candidates if replays[found.record.run] != found.record.loss_head]
    for found in candidates:
        if found in moved:
            print(f"{relative(found.path)}: stays: its first losses do not replay on the current code")
        else:
            stamped = restamp(found.path, found.record)
            if found.kind == "published":
                state_record(found.path)
                state_record(stamped)
    print(f"{len(candidates) - len(moved)} records re-stamped, {len(stale) - len(candidates) + len(moved)} stay stale")
    if dvc:
        track(published)
    if moved:
        raise UserError(f"{len(moved)} records do not replay on the current code; each is named above", DIFFERENCE)


def find_stale(kind: str, experiment: str, scale: str, here: dict[str, Any]) -> list[Stale]:
    """All intact records of other code, data or configuration than the current; corrupt ones are printed."""
    found = []
    for path in stored_records(kind, scale, experiment):
        try:
            record = check_record(path)
        except UserError as error:
            print(f"stays: {error}")
            continue
        try:
            current = fingerprint(record.run)
        except UserError as error:
            found.append(Stale(kind, path, record, f"its run is not in the configuration any more ({error})"))
            continue
        if current.digest != record.fingerprint.digest:
            found.append(Stale(kind, path, record, _obstacle(path, record, here)))
    return found


def restamp(path: Path, record: Record) -> Path:
    """Write the record under the current fingerprint, with the evidence, and remove the old one."""
    new = stamp(fingerprint(record.run))
    evidence = Rekey(old=record.fingerprint, new=new, replayed_losses=len(record.loss_head))
    config = resolve(record.run).model_dump()
    stamped = record.model_copy(update={"fingerprint": new, "config": config, "rekeyed": [*record.rekeyed, evidence]})
    destination = _current_path(path, record)
    read_arrays(path, record)
    write_record(destination, stamped, path.with_suffix(".safetensors").read_bytes())
    remove_record(path)
    return destination


def changed_keys(old: dict[str, Any], new: dict[str, Any], given: dict[str, Any]) -> list[str]:
    """The keys of two configurations that differ. `given`: `new` without the values that are the model's defaults.

    A key that did not exist when the record was made counts as unchanged where it holds its default: whether the
    default does what the code did before is for the replay to say.
    """
    changed = []
    for key in old | new:
        if key not in old or key not in new:
            changed += [key] if key in old or key in given else []
        elif isinstance(old[key], dict) and isinstance(new[key], dict):
            changed += [f"{key}.{below}" for below in changed_keys(old[key], new[key], given.get(key, {}))]
        elif old[key] != new[key]:
            changed.append(key)
    return changed


def _check_golden(experiment: str, execute: golden.Execute, jobs: int) -> None:
    """UserError unless every golden record of the experiment is what the current code gives, bit for bit."""
    made, now = golden.read_golden(experiment).environment, describe("cpu")
    if device_class(made) != device_class(now):
        where = f"{_class(made)}, and this is {_class(now)}"
        raise UserError(f"the golden records were made on another device class ({where}); nothing is re-stamped")
    try:
        golden.check(experiment, execute, jobs=jobs)
    except UserError as error:
        raise UserError(f"{error}; nothing is re-stamped", error.exit_code) from None


def _class(environment: dict[str, Any]) -> str:
    device, version, instructions = (environment[key] for key in ("device", "torch", "instruction_set"))
    return f"{device}, torch {version}, {instructions}, threads {environment['threads']}"


def _obstacle(path: Path, record: Record, here: dict[str, Any]) -> str:
    current, config = fingerprint(record.run), resolve(record.run)
    new, given = config.model_dump(mode="json"), config.model_dump(mode="json", exclude_defaults=True)
    if _current_path(path, record).exists():
        return "there is a record of the current code beside it"
    if keys := changed_keys(record.config, new, given):
        return f"its configuration is another: {', '.join(keys)}"
    if record.fingerprint.data != current.data:
        return "its data are another version"
    if device_class(record.environment) != device_class(here):
        return f"it was made on another device class ({_class(record.environment)}) than this one ({_class(here)})"
    return ""


def _current_path(path: Path, record: Record) -> Path:
    return path.with_name(f"seed{record.run.seed}-{fingerprint(record.run).short}.json")
