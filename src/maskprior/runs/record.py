"""The result of one run: a JSON file for people and programs, and a safetensors file for its arrays."""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from maskprior.errors import DATA, UserError
from maskprior.files import write_atomically
from maskprior.runs.fingerprint import Fingerprint
from maskprior.runs.spec import Run
from maskprior.runs.store import relative

LOSS_HEAD = 32
RESTORE = "restore it with `maskprior restore`, or train it with `maskprior run`"

Arrays = dict[str, np.ndarray]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class FingerprintPart(_Part):
    digest: str
    config: str
    data: str
    code: str


class Rekey(_Part):
    """A record re-stamped after a change of code that left its numbers alone, and the evidence for it.

    Attributes:
        replayed_losses: how many of its first losses the current code gave again, bit for bit.
        replayed_on: the device class of the machine that did so; was: the run's name before. Empty in old re-stamps.
        against: the commit whose code gave the same numbers at the scale smoke; then no loss is replayed.
    """

    old: FingerprintPart
    new: FingerprintPart
    replayed_losses: int
    replayed_on: str = ""
    was: str = ""
    against: str = ""


class Record(_Part):
    """Everything a run measured.

    Attributes:
        metrics: name -> final value; None where undefined or diverged.
        reference: what the task's known solutions score (for Boolean: the exact minimum-degree interpolator).
        loss_head: the first 32 training losses, exact: what a replay is compared with, bit for bit.
        labels: array name -> names along its last axis.
        arrays_sha256: of the safetensors file beside the record.
        environment: where it ran: versions, device class, threads, instruction set, seconds.
        rekeyed: re-stamps, oldest first.
    """

    format: Literal[1] = 1
    run: Run
    fingerprint: FingerprintPart
    status: Literal["completed", "diverged"]
    metrics: dict[str, float | None]
    reference: dict[str, float]
    loss_head: list[float]
    labels: dict[str, list[str]]
    config: dict[str, Any]
    environment: dict[str, Any]
    arrays_sha256: str
    rekeyed: list[Rekey] = []


def stamp(fingerprint: Fingerprint) -> FingerprintPart:
    return FingerprintPart(
        digest=fingerprint.digest, config=fingerprint.config, data=fingerprint.data, code=fingerprint.code
    )


def pack_arrays(arrays: Arrays) -> tuple[bytes, str]:
    """The arrays as safetensors bytes and their sha256."""
    content = save_arrays({name: np.asarray(arrays[name], order="C") for name in sorted(arrays)})
    return content, hashlib.sha256(content).hexdigest()


def write_record(path: Path, record: Record, arrays: bytes) -> None:
    """Write both files; the JSON comes last, so a record that is seen is whole. A record of other arrays goes first."""
    text = json.dumps(record.model_dump(), indent=1, allow_nan=False) + "\n"
    _write(path, text.encode(), arrays)


def copy_record(source: Path, destination: Path) -> None:
    """Copy both files of a record, byte for byte and as safely as they were written."""
    _write(destination, source.read_bytes(), source.with_suffix(".safetensors").read_bytes())


def remove_record(path: Path) -> None:
    """The JSON goes first, so that no half of a record is ever seen."""
    path.unlink()
    path.with_suffix(".safetensors").unlink(missing_ok=True)


def _write(path: Path, text: bytes, arrays: bytes) -> None:
    file = path.with_suffix(".safetensors")
    if path.exists() and not (file.exists() and file.read_bytes() == arrays):
        path.unlink()
    write_atomically(file, arrays)
    write_atomically(path, text)


def read_record(path: Path) -> Record:
    """The record at `path`. UserError (exit code 3) when it is missing or not a record."""
    try:
        return Record.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{relative(path)}: no such record; {RESTORE}", DATA) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        what = f"{where}: {first['msg']}" if where else first["msg"]
        raise UserError(f"{relative(path)}: corrupt record ({what}); {RESTORE}", DATA) from None


def read_arrays(path: Path, record: Record) -> Arrays:
    """The arrays beside the record at `path`, checked against the record's hash. UserError (exit code 3) if corrupt."""
    file = path.with_suffix(".safetensors")
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{relative(file)}: missing; {RESTORE}", DATA) from None
    if hashlib.sha256(content).hexdigest() != record.arrays_sha256:
        raise UserError(f"{relative(file)}: its sha256 is not the one in {path.name}; {RESTORE}", DATA)
    try:
        return load_arrays(content)
    except SafetensorError as error:
        raise UserError(f"{relative(file)}: not a safetensors file ({error}); {RESTORE}", DATA) from None
