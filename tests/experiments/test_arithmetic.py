import shutil
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from torch import nn
from torch.nn import functional as F

from maskprior import paths
from maskprior.config.arithmetic import METHODS, ArithmeticConfig
from maskprior.datasets import arithmetic as data
from maskprior.experiments import arithmetic
from maskprior.experiments.arithmetic import Pairs, carries, evenly, score
from maskprior.experiments.run import execute
from maskprior.experiments.token import EVALUATION_BATCH
from maskprior.runs.record import Record, read_record
from maskprior.runs.spec import make_run, resolve
from maskprior.runs.store import checkpoint_path
from maskprior.training.loop import train


def smoke(task: str, method: str, **changes: Any) -> ArithmeticConfig:
    values = resolve(make_run("arithmetic", task, method, scale="smoke")).model_dump()
    return ArithmeticConfig.model_validate(values | changes)


def pairs(*numbers: tuple[int, int], task: str = "addition") -> Pairs:
    inputs, results = data.table(task)
    rows = [1000 * a + b for a, b in numbers]
    return Pairs(torch.from_numpy(inputs[rows]), torch.from_numpy(results[rows]))


class Answers(nn.Module):
    """Answers the same digits to every pair, with all its confidence `logit` on them."""

    def __init__(self, digits: list[int], logit: float) -> None:
        super().__init__()
        self.logits = logit * F.one_hot(torch.tensor(digits), 10).float().flatten()

    def forward(self, inputs):
        assert inputs.dtype == torch.long
        return self.logits.expand(len(inputs), -1)


def test_carries_by_hand():
    known = {(0, 0): 0, (7, 993): 3, (5, 5): 1, (999, 1): 3, (150, 250): 1, (199, 801): 3, (123, 456): 0, (58, 67): 2}
    assert carries(pairs(*known).inputs).tolist() == list(known.values())


def test_score_by_hand():
    """Of 12 + 3 = 0015, 10 + 6 = 0016 and 999 + 16 = 1015, the answer 0015 has 1 right and 4 + 3 + 3 digits right."""
    found = score(Answers([0, 0, 1, 5], logit=100.0), pairs((12, 3), (10, 6), (999, 16)))
    assert found.digits_right.tolist() == [2, 3, 3, 2]
    metrics = found.metrics("test")
    assert metrics["sequence_accuracy"] == pytest.approx(100 / 3)
    assert metrics["digit_accuracy"] == pytest.approx(100 * 10 / 12)
    assert metrics["test_loss"] == pytest.approx(100 * 2 / 12)
    carried = found.accuracy_by_carries()
    assert carried[0] == pytest.approx(50)
    assert carried[3] == 0
    assert np.isnan(carried[1:3]).all()


def test_a_model_that_knows_nothing_pays_log_ten():
    found = score(Answers([0, 0, 0, 0], logit=0.0), pairs((1, 2), (3, 4), (500, 600)))
    assert found.metrics("test")["test_loss"] == pytest.approx(np.log(10))


def test_batches_of_the_evaluation_add_up(monkeypatch):
    inputs, results = data.table("addition")
    few = Pairs(torch.from_numpy(inputs[::997]), torch.from_numpy(results[::997]))
    model = Answers([0, 9, 9, 9], logit=1.0)
    at_once = score(model, few)
    monkeypatch.setattr(arithmetic, "EVALUATION_BATCH", 7)
    seen = []
    in_parts = score(model, few, lambda done, total, loss: seen.append((done, total)))
    assert in_parts.digits_right.tolist() == at_once.digits_right.tolist()
    assert in_parts.by_carries.tolist() == at_once.by_carries.tolist()
    assert in_parts.loss_sum == pytest.approx(at_once.loss_sum)
    assert seen[0] == (7, len(few.results))
    assert seen[-1] == (len(few.results), len(few.results))


def test_even_sample():
    assert evenly(10, 4).tolist() == [0, 3, 6, 9]
    assert evenly(3, 20000).tolist() == [0, 1, 2]


@pytest.mark.parametrize("task", ["addition", "multiplication"])
@pytest.mark.parametrize("method", METHODS)
def test_smoke_run(task, method):
    prepared = arithmetic.prepare(smoke(task, method), 0, "cpu")
    losses = train(prepared.setup)
    outcome = prepared.report(losses, None)
    digits = data.OUTPUT_DIGITS[task]
    assert losses.values[0] == pytest.approx(np.log(10), abs=0.5)
    assert outcome.arrays["digit_accuracy"].shape == (digits,)
    assert outcome.metrics["digit_accuracy"] == pytest.approx(outcome.arrays["digit_accuracy"].mean(), rel=1e-6)
    assert outcome.arrays["persistence/open_mass"].shape == (6, 2, 4)
    assert ("maps/mask_final" in outcome.arrays) == method.startswith("mask")
    assert ("sequence_accuracy_by_carries" in outcome.arrays) == (task == "addition")
    assert all(np.isfinite(value) for value in outcome.metrics.values())


def test_full_evaluation_covers_every_held_out_pair_once():
    config = smoke("addition", "default", full_evaluation=True, train_fraction=0.9995)
    prepared = arithmetic.prepare(config, 0, "cpu")
    done = []
    prepared.report(train(prepared.setup), lambda step, steps, loss: done.append((step, steps)))
    assert done[-1] == (500, 500)


class Killed(BaseException):
    """Nothing catches it: what is on disk when it is raised is what a killed process leaves."""


def test_a_run_killed_in_its_evaluation_does_not_train_again(tmp_path, monkeypatch):
    """The evaluation starts over, the training does not, and the record is the one of an undisturbed run."""
    steps, held_out = 40, 5000
    run = make_run("arithmetic", "addition", "mask", scale="smoke")

    def record_of(name: str, killed_at: tuple[int, ...]) -> tuple[Record, list[list[int]]]:
        """The record in a project of its own, and the totals of the progress that each attempt has shown."""
        shutil.copytree(paths.config(), tmp_path / name / "config")
        monkeypatch.setenv("MASKPRIOR_ROOT", str(tmp_path / name))
        path = tmp_path / name / "config" / "experiments" / "arithmetic.yaml"
        file = yaml.safe_load(path.read_text())
        file["scales"]["smoke"] |= {"full_evaluation": True, "train_fraction": 1 - held_out / data.PAIRS}
        path.write_text(yaml.safe_dump(file))
        shown: list[list[int]] = []
        for kill in [*killed_at, None]:
            shown.append([])

            def progress(done: int, total: int, loss: float, kill: int | None = kill) -> None:
                shown[-1].append(total)
                if total == held_out and done == kill:
                    raise Killed

            try:
                found = execute(run, device="cpu", progress=progress)
            except Killed:
                assert kill is not None
                assert checkpoint_path(run).exists()
        assert not checkpoint_path(run).exists()
        return read_record(found), shown

    undisturbed, shown = record_of("undisturbed", ())
    evaluation = [held_out] * -(-held_out // EVALUATION_BATCH)
    assert shown == [[steps] * steps + evaluation]  # every held-out pair once, in batches
    killed, shown = record_of("killed", (EVALUATION_BATCH, held_out))
    assert shown == [[steps] * steps + evaluation[:1], evaluation, evaluation]
    assert killed.metrics == undisturbed.metrics
    assert killed.loss_head == undisturbed.loss_head
    assert killed.arrays_sha256 == undisturbed.arrays_sha256


def test_memory_of_the_evaluation_does_not_grow_with_the_pairs():
    """No forward pass sees more pairs than one batch, whatever their number, and all passes together see each once."""
    seen: list[int] = []

    class Counting(Answers):
        def forward(self, inputs):
            seen.append(len(inputs))
            return super().forward(inputs)

    inputs, results = data.table("multiplication")
    few = Pairs(torch.from_numpy(inputs[:5000]), torch.from_numpy(results[:5000]))
    score(Counting([0, 0, 0, 0, 0, 0], logit=1.0), few)
    assert max(seen) == EVALUATION_BATCH
    assert sum(seen) == 5000


def test_no_run_trains_on_what_it_is_tested_on():
    config = smoke("addition", "default")
    prepared = arithmetic.prepare(config, 3, "cpu")
    split = data.split(config.train_fraction, seed=3)
    inputs, _ = data.table("addition")
    allowed = {tuple(row) for row in inputs[split.train].tolist()}
    batches = prepared.setup.batches(0)
    trained = {tuple(row) for _ in range(63) for row in next(batches)[0].tolist()}
    assert trained <= allowed
    assert not trained & {tuple(row) for row in inputs[split.test].tolist()}
