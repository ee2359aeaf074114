"""A project folder of its own with constructed records: real files under the real names, numbers chosen by the test."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from maskprior import paths
from maskprior.analysis.persistence import clipped_interpolator_loss
from maskprior.analysis.records import experiment_of
from maskprior.runs.fingerprint import fingerprint
from maskprior.runs.manifest import state_record
from maskprior.runs.record import Record, pack_arrays, stamp, write_record
from maskprior.runs.spec import make_run, resolve
from maskprior.runs.store import record_path
from maskprior.tasks.arithmetic import TOKENS

REFERENCE = {"mdi_test_loss": 4.0, "mdi_test_accuracy": 75.0, "mdi_test_sign_accuracy": 75.0}
STEPS = np.array([0, 1, 10, 60], dtype=np.int32)

WriteRun = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project with the real configuration."""
    shutil.copytree(paths.config(), tmp_path / "config")
    monkeypatch.setenv("MASKPRIOR_ROOT", str(tmp_path))
    return tmp_path


@pytest.fixture
def write_run(project: Path) -> WriteRun:
    """write_run("2parity", "mask", 0, {"test_loss": 0.01}): a run's local record; returns its path."""

    def write(
        task: str,
        method: str,
        seed: int,
        metrics: Mapping[str, float],
        *,
        scale: str = "reduced",
        kind: str = "local",
        diverged: bool = False,
        map_alignment: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0),
        strength: tuple[float, ...] | None = None,
        function: tuple[float, ...] = (0.0, 0.0, 0.5, 1.0),
        more_arrays: Mapping[str, np.ndarray] | None = None,
    ) -> Path:
        run = make_run(experiment_of(task), task, method, scale=scale, seed=seed)
        boolean = run.experiment == "boolean"
        config = resolve(run).model_dump()
        shape = (len(STEPS), config["model"]["layers"], config["model"]["heads"])
        tokens = config["dimension"] if boolean else TOKENS
        alignment = np.broadcast_to(np.array(map_alignment, dtype=np.float32)[:, None, None], shape)
        strong = np.array(map_alignment if strength is None else strength, dtype=np.float32)[:, None, None]
        itself = np.broadcast_to(np.eye(tokens, dtype=np.float16), (*shape[1:], tokens, tokens))
        open_mass = np.broadcast_to(1 / tokens + strong * (1 - 1 / tokens), shape)
        arrays = {
            "persistence/step": STEPS,
            "persistence/map_alignment": alignment,
            "persistence/mask_alignment": alignment,
            "persistence/query_key_alignment": np.zeros(shape, dtype=np.float32),
            "persistence/open_mass": open_mass.astype(np.float32),
            "persistence/open_fraction": np.full(shape, 1 / tokens, dtype=np.float32),
            "persistence/mask_gap": 10 * alignment if method.startswith("mask") else np.full_like(alignment, np.nan),
            "persistence/query_key_gap": np.zeros(shape, dtype=np.float32),
            "trace/step": STEPS,
            "trace/test_loss": np.array([2.0, 1.5, 1.0, 0.5], dtype=np.float32),
            "maps/attention_initial": itself,
            "maps/attention_final": itself,
        }
        if boolean:
            whole = clipped_interpolator_loss(task, config["dimension"])
            arrays["trace/unseen_loss"] = np.float32(whole) * (1 - np.array(function, dtype=np.float32)) ** 2
        elif run.experiment == "arithmetic":
            arrays["trace/sequence_accuracy"] = 100 * np.array(function, dtype=np.float32)
        if boolean:
            means = np.array([0.0, 0.1, 0.5, 0.9], dtype=np.float32) + np.float32(0.01 * seed)
            arrays["trace/unseen_mean_prediction"] = means
        packed, digest = pack_arrays(arrays | (more_arrays or {}))
        path = record_path(run, kind)
        record = Record(
            run=run,
            fingerprint=stamp(fingerprint(run)),
            status="diverged" if diverged else "completed",
            metrics={"init_fidelity_alignment": map_alignment[0], **metrics},
            reference=REFERENCE if boolean else {},
            loss_head=[1.0],
            labels={},
            config=config,
            environment={"seconds": 1.0},
            arrays_sha256=digest,
        )
        write_record(path, record, packed)
        if kind == "published":
            state_record(path)
        return path

    return write
