"""Re-stamp records: a record whose numbers the current code still gives gets the fingerprint of the current code.

The evidence counts, wherever it is found. A golden record and a record's first losses that come out equal bit for bit
on this machine are evidence on any class of processor. Where they come out unequal on the class of processor they were
made on, the numbers have changed. Unequal on another class, the question stays undecided, and nothing is re-stamped.

Where it is undecided, the earlier code itself can be asked: `against` a commit whose code the records bear, every
record's cell is trained at the scale smoke with both codes on this machine, and all numbers must be equal bit for bit.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from maskprior.config.settings import Settings
from maskprior.errors import DIFFERENCE, UserError
from maskprior.evidence import earlier, golden
from maskprior.evidence.parallel import in_order
from maskprior.evidence.publish import check_complete, track
from maskprior.evidence.verify import check_record
from maskprior.runs.environment import choose_device, describe, device_class
from maskprior.runs.fingerprint import fingerprint
from maskprior.runs.manifest import published_folder, state_record
from maskprior.runs.record import LOSS_HEAD, Record, Rekey, read_arrays, remove_record, stamp, write_record
from maskprior.runs.spec import Run, experiment_file, resolve
from maskprior.runs.store import relative, stored_records

Replay = Callable[..., list[float]]


@dataclass(frozen=True)
class Stale:
    """A record of other code than the current code.

    Attributes:
        run: what the record's run is called today: a variant, where the choice it was made with is no longer the
            configuration's own.
        reason: why the record cannot be re-stamped; empty if it may be.
    """

    kind: str
    path: Path
    record: Record
    run: Run
    reason: str


def rekey(
    experiment: str,
    settings: Settings,
    *,
    replay: Replay,
    execute: golden.Execute,
    against: str = "",
    jobs: int = 1,
    dvc: bool = True,
) -> None:
    """Re-stamp published and local records of an experiment whose numbers the current code still gives.

    A record qualifies when its configuration and data are current ones. Then the experiment's golden records must come
    out unchanged, and the record's own first losses must replay, all bit for bit; or, `against` a commit, its cell at
    the scale smoke must be what that commit's code gives. What does not match stays and is named. UserError (exit code
    4) if a golden record differs, a replay on the record's own device class, or a cell from the earlier code's.
    """
    device = choose_device(settings.device)
    stale = [found for kind in ("published", "local") for found in find_stale(kind, experiment, settings.scale)]
    for found in stale:
        if found.reason:
            print(f"{relative(found.path)}: stays: {found.reason}")
    candidates = [found for found in stale if not found.reason]
    if not candidates:
        print(f"{experiment} at scale {settings.scale}: {len(stale)} stale records, none to re-stamp")
        return
    published = [published_folder(settings.scale, experiment)] if any(c.kind == "published" for c in candidates) else []
    check_complete(published)
    if against:
        equal, differ = _compare_with_earlier(candidates, against, execute, jobs)
    else:
        print(f"{len(candidates)} records may be re-stamped if the golden records of {experiment} are unchanged")
        _check_golden(experiment, execute, jobs)
        equal, differ = _replay(candidates, replay, device, jobs)
    here, asked = _class(describe(device)), earlier.commit(against) if against else ""
    for found in equal:
        stamped = restamp(found, replayed_on=here, against=asked)
        if found.kind == "published":
            state_record(found.path)
            state_record(stamped)
    print(f"{len(equal)} records re-stamped, {len(stale) - len(equal)} stay stale")
    if dvc:
        track(published)
    if differ:
        what = "are not what the earlier code gives" if against else "do not replay on the current code"
        raise UserError(f"{len(differ)} records {what}; each is named above", DIFFERENCE)


def _replay(candidates: list[Stale], replay: Replay, device: str, jobs: int) -> tuple[list[Stale], list[Stale]]:
    """The records whose first losses the current code gives again, and those it contradicts."""
    print("replaying the first losses of each record")
    runs = list(dict.fromkeys(found.run for found in candidates))
    replays: dict[Run, list[float]] = {}
    for losses in in_order(functools.partial(replay, count=LOSS_HEAD, device=device), runs, jobs=jobs):
        replays[runs[len(replays)]] = losses
        print(f"[{len(replays)}/{len(runs)}] {runs[len(replays) - 1].name}", flush=True)
    here = describe(device)
    equal = [found for found in candidates if replays[found.run] == found.record.loss_head]
    differ = []
    for found in candidates:
        if found in equal:
            continue
        if device_class(found.record.environment) == device_class(here):
            differ.append(found)
            print(f"{relative(found.path)}: stays: its first losses do not replay on the current code")
        else:
            made = _class(found.record.environment)
            why = f"undecided: its first losses do not replay here, and it was made on another device class ({made})"
            print(f"{relative(found.path)}: stays: {why}")
    return equal, differ


def _compare_with_earlier(
    candidates: list[Stale], against: str, execute: golden.Execute, jobs: int
) -> tuple[list[Stale], list[Stale]]:
    """The records whose cells the current and the earlier code give alike at the scale smoke, and those unlike."""
    cells: dict[tuple[Run, Run], list[Stale]] = {}
    for found in candidates:
        key = replace(found.record.run, seed=0), replace(found.run, seed=0, scale="smoke")
        cells.setdefault(key, []).append(found)
    print(f"{len(candidates)} records of {len(cells)} cells: each cell is trained at scale smoke with both codes")
    now = {run: golden.numbers(record) for run, record in golden.train_smoke([new for _, new in cells], execute, jobs)}
    equal: list[Stale] = []
    differ: list[Stale] = []
    count = 0
    with earlier.checkout(against) as folder:
        for (old, new), before in zip(cells, earlier.run_earlier(folder, [old for old, _ in cells]), strict=True):
            members = cells[old, new]
            same = before.smoke is not None and before.smoke == now.get(new)
            count += 1
            print(f"[{count}/{len(cells)}] {new.name}: {'equal' if same else 'not equal'}", flush=True)
            for found in members:
                if found.record.fingerprint.digest != before.digest:
                    print(f"{relative(found.path)}: stays: its code is not that of {against}")
                else:
                    (equal if same else differ).append(found)
                    if not same:
                        print(f"{relative(found.path)}: stays: its cell is not what the code of {against} gives")
    return equal, differ


def find_stale(kind: str, experiment: str, scale: str) -> list[Stale]:
    """All intact records of other code, data or configuration than the current; corrupt ones are printed."""
    found = []
    for path in stored_records(kind, scale, experiment):
        try:
            record = check_record(path)
        except UserError as error:
            print(f"stays: {error}")
            continue
        try:
            run = current_run(record)
        except UserError as error:
            found.append(
                Stale(kind, path, record, record.run, f"its run is not in the configuration any more ({error})")
            )
            continue
        if run != record.run or fingerprint(run).digest != record.fingerprint.digest:
            found.append(Stale(kind, path, record, run, _obstacle(path, record, run)))
    return found


def current_run(record: Record) -> Run:
    """The run that has the record's configuration today: its own, or one of the same method under another variant.

    A choice that was the configuration's own when the record was made may be a variant by now. UserError when the
    record's own run is gone.
    """
    own = record.run
    if not _changed(record, own):
        return own
    others = (replace(own, variant=name) for name in ("", *experiment_file(own.experiment)["variants"]))
    return next((run for run in others if _possible(run) and not _changed(record, run)), own)


def restamp(found: Stale, *, replayed_on: str, against: str = "") -> Path:
    """Write the record under its current name and fingerprint, with the evidence, and remove the old one.

    `replayed_on`: the class of the machine on which the numbers came out equal; `against`: the commit whose code gave
    them there, where the record's own losses were not replayed.
    """
    record, new = found.record, stamp(fingerprint(found.run))
    evidence = Rekey(
        old=record.fingerprint,
        new=new,
        replayed_losses=0 if against else len(record.loss_head),
        replayed_on=replayed_on,
        was=record.run.name,
        against=against,
    )
    config = resolve(found.run).model_dump()
    stamped = record.model_copy(
        update={"run": found.run, "fingerprint": new, "config": config, "rekeyed": [*record.rekeyed, evidence]}
    )
    destination = _current_path(found.path, found.run)
    read_arrays(found.path, record)
    write_record(destination, stamped, found.path.with_suffix(".safetensors").read_bytes())
    remove_record(found.path)
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
    unequal = []
    try:
        for comparison in golden.check(experiment, execute, jobs=jobs):
            unequal += [] if comparison.bit_for_bit else [comparison.run.name]
    except UserError as error:
        raise UserError(f"{error}; nothing is re-stamped", error.exit_code) from None
    if unequal:
        made = _class(golden.read_golden(experiment).environment)
        raise UserError(
            f"undecided: {len(unequal)} golden records, {unequal[0]} the first, are not equal bit for bit here, and "
            f"they were made on another device class ({made}); nothing is re-stamped"
        )


def _class(environment: dict[str, Any]) -> str:
    device, version, instructions = (environment[key] for key in ("device", "torch", "instruction_set"))
    return f"{device}, torch {version}, {instructions}, threads {environment['threads']}"


def _possible(run: Run) -> bool:
    """Whether the variant can be had with this task and method."""
    try:
        resolve(run)
    except UserError:
        return False
    return True


def _changed(record: Record, run: Run) -> list[str]:
    config = resolve(run)
    new, given = config.model_dump(mode="json"), config.model_dump(mode="json", exclude_defaults=True)
    return changed_keys(record.config, new, given)


def _obstacle(path: Path, record: Record, run: Run) -> str:
    if _current_path(path, run).exists():
        return "there is a record of the current code beside it"
    if keys := _changed(record, run):
        return f"its configuration is another: {', '.join(keys)}"
    if record.fingerprint.data != fingerprint(run).data:
        return "its data are another version"
    return ""


def _current_path(path: Path, run: Run) -> Path:
    """Where the record at `path` lies under its current name and fingerprint, published or local as before."""
    return path.parents[1] / run.method_variant / f"seed{run.seed}-{fingerprint(run).short}.json"
