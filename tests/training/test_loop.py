import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from maskprior import paths
from maskprior.experiments import boolean
from maskprior.experiments.run import execute, replay_losses
from maskprior.runs.record import Record, read_arrays, read_record
from maskprior.runs.spec import make_run
from maskprior.runs.store import checkpoint_path
from maskprior.training import checkpoint, loop
from maskprior.training.loop import train
from tests.boolean_runs import smoke

CHILD = Path(__file__).parent / "killed_run.py"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty project with the real configuration."""
    shutil.copytree(paths.config(), tmp_path / "config")
    monkeypatch.setenv("MASKPRIOR_ROOT", str(tmp_path))
    return tmp_path


def science(path: Path) -> tuple[Record, dict[str, bytes]]:
    """A record without the time it took, and its arrays as bytes."""
    record = read_record(path)
    environment = {key: value for key, value in record.environment.items() if key != "seconds"}
    arrays = {name: array.tobytes() for name, array in read_arrays(path, record).items()}
    return record.model_copy(update={"environment": environment}), arrays


@pytest.mark.slow
def test_a_killed_run_ends_with_the_same_record(project):
    """Killed before the first checkpoint, at any step, while writing a checkpoint; then left to finish."""
    run = make_run("boolean", "2parity", "mask", scale="smoke")
    whole = execute(run, device="cpu").rename(project / "whole.json")
    whole_arrays = whole.with_suffix(".safetensors")
    next((project / "results" / "local").rglob("*.safetensors")).rename(whole_arrays)
    assert not checkpoint_path(run).exists()

    step = random.randrange(10, 30)
    newest = checkpoint_path(run)
    kills = [(step - 5, "step", 60), (step, "step", 0), (step + 3, "keep", 0), (step + 7, "write", 0)]
    for last, where, seconds in kills:
        died = subprocess.run([sys.executable, CHILD, str(last), where, str(seconds)], check=False)
        assert died.returncode == -signal.SIGKILL
        assert newest.exists() == (seconds == 0 and where != "write")
    # The kill came before step + 7's checkpoint was in place, so the one of the step before is there, whole.
    saved = torch.load(checkpoint.previous(newest), weights_only=True)
    assert len(saved["losses"]) == step + 6, f"random step {step}"

    resumed = science(execute(run, device="cpu"))
    assert resumed[0] == science(whole)[0], f"random step {step}"
    assert resumed[1] == science(whole)[1], f"random step {step}"
    assert not checkpoint_path(run).exists()
    leftovers = [path.name for path in checkpoint_path(run).parent.iterdir()]
    assert all(name.startswith(".") for name in leftovers)


@pytest.mark.parametrize("stop", [1, 31, 59])
@pytest.mark.parametrize("name", ["adam", "sgd"])
def test_going_on_from_a_checkpoint_changes_no_bit(tmp_path, monkeypatch, stop, name):
    """In one process: after the first update, after one that the diagnostics measured, before the last one."""
    changes = {"name": name, "lr": 1e-3 if name == "adam" else 1e-2}
    whole, first, second = (boolean.prepare(smoke(optimizer=changes), 0, "cpu") for _ in range(3))
    losses = train(whole.setup)
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", -1.0)
    train(first.setup, checkpoint=tmp_path / "run.pt", stop=stop)
    resumed = train(second.setup, checkpoint=tmp_path / "run.pt")
    assert resumed.values == losses.values
    expected, found = whole.report(losses, None), second.report(resumed, None)
    assert found.metrics == expected.metrics
    assert found.arrays.keys() == expected.arrays.keys()
    assert all(found.arrays[name].tobytes() == array.tobytes() for name, array in expected.arrays.items())


@pytest.mark.parametrize("damage", [b"", b"not a checkpoint", None], ids=["empty", "text", "cut"])
@pytest.mark.parametrize("both", [False, True])
def test_a_damaged_checkpoint_is_set_aside_and_the_result_is_the_same(tmp_path, monkeypatch, capsys, damage, both):
    """The newest generation is damaged, or both are: on from the one before it, or from the start."""
    whole, first, second = (boolean.prepare(smoke(), 0, "cpu") for _ in range(3))
    losses = train(whole.setup)
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", -1.0)
    newest = tmp_path / "run.pt"
    train(first.setup, checkpoint=newest, stop=20)
    for file in (newest, checkpoint.previous(newest))[: 1 + both]:
        file.write_bytes(file.read_bytes()[:1000] if damage is None else damage)
    steps = []
    resumed = train(second.setup, checkpoint=newest, progress=lambda step, *_: steps.append(step))
    assert steps[0] == (1 if both else 20)
    assert resumed.values == losses.values
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(" (")[0] for line in told] == [
        f"checkpoint {name}: damaged" for name in ("run.pt", "run.previous.pt")[: 1 + both]
    ]
    assert (tmp_path / "run.pt.damaged").exists()
    checkpoint.remove(newest)
    assert not list(tmp_path.glob("*.pt"))


def test_same_seed_same_record_other_seed_another(project):
    run = make_run("boolean", "majority3", "mask", scale="smoke")
    once = science(execute(run, device="cpu"))
    again = science(execute(run, device="cpu"))
    other = science(execute(replace(run, seed=1), device="cpu"))
    assert again == once
    assert other[0].metrics["test_loss"] != once[0].metrics["test_loss"]
    assert other[0].loss_head != once[0].loss_head


def test_a_replay_gives_the_loss_head_and_writes_nothing(project):
    run = make_run("boolean", "2parity", "default", scale="smoke")
    head = read_record(execute(run, device="cpu")).loss_head
    files = sorted(project.rglob("*"))
    assert replay_losses(run, 32, device="cpu") == head
    assert len(head) == 32
    assert sorted(project.rglob("*")) == files


def test_a_diverging_run_is_a_record_of_its_own_kind(project):
    file = project / "config" / "experiments" / "boolean.yaml"
    text = file.read_text()
    file.write_text(text.replace("variants:\n", "variants:\n  steep: {optimizer: {name: sgd, lr: 1.0e+4}}\n"))
    assert file.read_text() != text
    path = execute(make_run("boolean", "2parity", "mask+steep", scale="smoke"), device="cpu")
    record = read_record(path)
    arrays = read_arrays(path, record)
    assert record.status == "diverged"
    assert 1 <= len(record.loss_head) < 32
    assert np.isfinite(record.loss_head).all()
    assert record.metrics["test_loss"] is None
    assert record.metrics["init_fidelity_open_mass"] > 0.99
    assert arrays["trace/step"][-1] < 60


def test_a_loss_that_is_not_finite_ends_the_training():
    prepared = boolean.prepare(smoke(optimizer={"name": "sgd", "lr": 1e30}), 0, "cpu")
    losses = train(prepared.setup)
    assert losses.diverged
    assert len(losses.values) == 1
    assert not prepared.setup.model.training or all(np.isfinite(losses.values))


def test_stop_keeps_the_whole_runs_schedule():
    """The first losses of a stopped run are those of the whole one."""
    whole = train(boolean.prepare(smoke(), 0, "cpu").setup)
    assert train(boolean.prepare(smoke(), 0, "cpu").setup, stop=20).values == whole.values[:20]
    assert len(whole.values) == 60


def take(batches, count):
    return [tokens for tokens, _ in itertools.islice(batches, count)]


def test_batches_do_not_depend_on_where_they_start():
    batches = boolean.prepare(smoke(method="default"), 0, "cpu").setup.batches
    whole = take(batches(0), 40)
    for start in (1, 5, 6, 7, 23):
        assert all(torch.equal(a, b) for a, b in zip(take(batches(start), 10), whole[start:], strict=False))


def test_each_epoch_is_another_permutation():
    """2parity on 8 bits: 192 seen rows, six batches of 32 an epoch."""
    batches = boolean.prepare(smoke(method="default"), 0, "cpu").setup.batches
    epochs = [torch.cat(take(batches(6 * epoch), 6)) for epoch in range(3)]
    assert all(len(epoch) == len(epoch.unique(dim=0)) == 192 for epoch in epochs)
    assert not torch.equal(epochs[0], epochs[1])
    # Token 1 is +1, and a seen row has x0 = 1 or x1 = 1.
    assert all((epoch[:, :2] == 1).any(1).all() for epoch in epochs)


def test_an_epoch_ends_with_a_short_batch():
    batches = boolean.prepare(smoke(method="default", optimizer={"batch_size": 50}), 0, "cpu").setup.batches
    assert [len(tokens) for tokens in take(batches(0), 5)] == [50, 50, 50, 42, 50]
    assert [len(tokens) for tokens in take(batches(3), 2)] == [42, 50]


def test_order_depends_on_the_seed():
    first = [take(boolean.prepare(smoke(method="default"), seed, "cpu").setup.batches(0), 1)[0] for seed in (0, 1)]
    assert not torch.equal(*first)


def test_observing_changes_nothing():
    for method in ("mask", "structured_svd"):
        observed, alone = (boolean.prepare(smoke(method=method), 0, "cpu").setup for _ in range(2))
        alone = replace(alone, observers=())
        assert train(observed).values == train(alone).values
        states = observed.model.state_dict(), alone.model.state_dict()
        assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())


def test_progress_counts_every_step():
    seen = []
    train(boolean.prepare(smoke(), 0, "cpu").setup, progress=lambda *told: seen.append(told), stop=5)
    assert [step for step, _, _ in seen] == [1, 2, 3, 4, 5]
    assert all(np.isfinite(loss) for _, _, loss in seen)


def test_the_child_runs_this_code():
    """The killed process and this one must be the same project, or their comparison would mean nothing."""
    code = "import maskprior; print(maskprior.__file__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert Path(found.stdout.strip()).parent == paths.package()
