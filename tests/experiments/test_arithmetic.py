import shutil
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import nn
from torch.nn import functional as F

from maskprior import paths, tasks
from maskprior.config.arithmetic import ArithmeticConfig
from maskprior.datasets import arithmetic as data
from maskprior.experiments import arithmetic
from maskprior.experiments.arithmetic import Pairs, carries, evenly, score
from maskprior.experiments.run import execute
from maskprior.experiments.short_sequences import EVALUATION_BATCH
from maskprior.runs.record import Record, read_record
from maskprior.runs.spec import make_run, resolve
from maskprior.runs.store import checkpoint_path
from maskprior.training.loop import train

METHODS = ("default", "structured_svd", "structured_opt", "mask", "mask_zero", "mask_fixed")


def smoke(task: str, method: str, **changes: Any) -> ArithmeticConfig:
    values = resolve(make_run("arithmetic", task, method, scale="smoke")).model_dump()
    return ArithmeticConfig.model_validate(values | changes)


def pairs(*numbers: tuple[int, int], task: str = "addition") -> Pairs:
    inputs, results = data.table(tasks.find("arithmetic", task))
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
    inputs, results = data.table(tasks.find("arithmetic", "addition"))
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
    digits = tasks.find("arithmetic", task).digits
    assert losses.values[0] == pytest.approx(np.log(10), abs=0.5)
    assert outcome.arrays["digit_accuracy"].shape == (digits,)
    assert outcome.metrics["digit_accuracy"] == pytest.approx(outcome.arrays["digit_accuracy"].mean(), rel=1e-6)
    assert outcome.arrays["persistence/open_mass"].shape == (6, 2, 4)
    assert ("maps/mask_final" in outcome.arrays) == method.startswith("mask")
    assert ("sequence_accuracy_by_carries" in outcome.arrays) == (task == "addition")
    assert all(np.isfinite(value) for value in outcome.metrics.values())


# --- the readout `token`


def smoke_model(**changes: Any) -> nn.Module:
    method = changes.pop("method", "default")
    config = smoke("addition", method, **changes)
    found = tasks.find("arithmetic", "addition").patterns[config.pattern]
    pattern = found(layers=config.model.layers, heads=config.model.heads)
    return arithmetic.build_model(config, pattern, seed=0)


@torch.no_grad()
@pytest.mark.parametrize("tokens", [(0, 1, 2, 3), (2, 3, 4, 5), (5, 0, 1, 2)])
def test_token_k_spells_digit_k(tokens: tuple[int, ...]) -> None:
    """Blocks that add nothing, digits as unit vectors, and a head that reads them: token k says its own digit."""
    model: Any = smoke_model(digit_tokens=tokens)
    for block in model.blocks:
        for layer in (block.attention.out, block.mlp[2]):
            for parameter in layer.parameters():
                parameter.zero_()
    model.embedding.token.copy_(torch.eye(10, model.embedding.token.shape[1]))
    model.embedding.position.zero_()
    model.head.weight.copy_(torch.eye(10, model.head.weight.shape[1]))
    model.head.bias.zero_()
    inputs = pairs((123, 456), (907, 31)).inputs
    logits = arithmetic.digit_logits(model, inputs)
    assert torch.equal(logits, F.one_hot(inputs[:, list(tokens)].long(), 10).float())


def test_all_digits_share_one_head() -> None:
    model: Any = smoke_model()
    width = model.embedding.token.shape[1]
    assert sum(parameter.numel() for parameter in model.head.parameters()) == width * 10 + 10
    assert not list(model.readout.parameters())


@settings(max_examples=25, deadline=None)
@given(first=st.integers(0, 999), second=st.integers(0, 999))
def test_a_digit_depends_only_on_the_tokens_its_own_can_see(first: int, second: int) -> None:
    """With a closed mask the hundreds a2 and b2 see each other alone, in all layers: other digits change nothing."""
    model = smoke_model(method="mask_fixed", mask={"amplitude": 200.0})
    changed = first // 100 * 100 + (first + 37) % 100, second // 100 * 100
    with torch.no_grad():  # one pair at a time: a matrix product may round the rows of a batch differently
        before, after = (arithmetic.digit_logits(model, pairs(pair).inputs)[0] for pair in ((first, second), changed))
    assert torch.equal(before[[0, 3]], after[[0, 3]])
    assert not torch.equal(before[[1, 2]], after[[1, 2]])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"digit_tokens": (0, 1, 2)}, "a result of addition has 4 digits, and 3 tokens are given"),
        ({"digit_tokens": None}, "a result of addition has 4 digits, and 0 tokens are given"),
        ({"digit_tokens": (0, 1, 2, 2)}, "needs 4 different tokens of 0 to 5"),
        ({"digit_tokens": (0, 1, 2, 6)}, "needs 4 different tokens of 0 to 5"),
        ({"digit_tokens": (0, 1, 2, -1)}, "needs 4 different tokens of 0 to 5"),
    ],
)
def test_impossible_digit_tokens_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        smoke("addition", "default", **changes)


def test_digit_tokens_without_the_readout_that_uses_them_are_refused() -> None:
    values = resolve(make_run("arithmetic", "addition", "default+pool", scale="smoke")).model_dump()
    with pytest.raises(ValidationError, match="only readout token reads digits at tokens, not pool"):
        ArithmeticConfig.model_validate(values | {"digit_tokens": (0, 1, 2, 3)})


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

    inputs, results = data.table(tasks.find("arithmetic", "multiplication"))
    few = Pairs(torch.from_numpy(inputs[:5000]), torch.from_numpy(results[:5000]))
    score(Counting([0, 0, 0, 0, 0, 0], logit=1.0), few)
    assert max(seen) == EVALUATION_BATCH
    assert sum(seen) == 5000


def test_no_run_trains_on_what_it_is_tested_on():
    config = smoke("addition", "default")
    prepared = arithmetic.prepare(config, 3, "cpu")
    split = data.split(config.train_fraction, seed=3)
    inputs, _ = data.table(tasks.find("arithmetic", "addition"))
    allowed = {tuple(row) for row in inputs[split.train].tolist()}
    batches = prepared.setup.batches(0)
    trained = {tuple(row) for _ in range(63) for row in next(batches)[0].tolist()}
    assert trained <= allowed
    assert not trained & {tuple(row) for row in inputs[split.test].tolist()}
