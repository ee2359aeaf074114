"""Execute a run: prepare, train, measure, write its record."""

import importlib
import math
from pathlib import Path

from maskprior.experiments.outcome import Prepared
from maskprior.runs import environment
from maskprior.runs.fingerprint import fingerprint
from maskprior.runs.record import LOSS_HEAD, Record, pack_arrays, stamp, write_record
from maskprior.runs.spec import Run, resolve
from maskprior.runs.store import checkpoint_path, record_path
from maskprior.training import checkpoint as checkpoint_file
from maskprior.training.loop import Progress, train


def execute(run: Run, *, device: str = "auto", progress: Progress | None = None) -> Path:
    """Train the run and write its local record, whose path is returned. An interrupted run goes on where it was."""
    device = environment.choose_device(device)
    identity, path, checkpoint = fingerprint(run), record_path(run, "local"), checkpoint_path(run)
    prepared = prepare(run, device)
    losses = train(prepared.setup, checkpoint=checkpoint, progress=progress)
    outcome = prepared.report(losses, progress)
    packed, arrays_sha256 = pack_arrays(outcome.arrays)
    record = Record(
        run=run,
        fingerprint=stamp(identity),
        status="diverged" if losses.diverged else "completed",
        metrics={name: _finite(value) for name, value in sorted(outcome.metrics.items())},
        reference=outcome.reference,
        loss_head=losses.values[:LOSS_HEAD],
        labels=outcome.labels,
        arrays_sha256=arrays_sha256,
        config=resolve(run).model_dump(),
        environment=environment.describe(device) | {"seconds": round(losses.seconds, 1)} | outcome.environment,
    )
    write_record(path, record, packed)
    checkpoint_file.remove(checkpoint)
    return path


def replay_losses(run: Run, count: int, *, device: str = "auto") -> list[float]:
    """The first `count` training losses of the run on the current code; nothing is written."""
    return train(prepare(run, environment.choose_device(device)).setup, stop=count).values


def prepare(run: Run, device: str) -> Prepared:
    module = importlib.import_module(f"maskprior.experiments.{run.experiment}")
    prepared: Prepared = module.prepare(resolve(run), run.seed, device)
    return prepared


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
