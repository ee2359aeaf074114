"""Three-digit addition and multiplication: data, model, method, loss and metrics of one run (paper 5.2, Table 2)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from maskprior import tasks
from maskprior.config.arithmetic import ArithmeticConfig
from maskprior.datasets import arithmetic as data
from maskprior.diagnostics.persistence import position_open_mass
from maskprior.evaluation import evaluation_mode
from maskprior.experiments.observers import Persistence, Trace, evenly, fidelity
from maskprior.experiments.outcome import Outcome, Prepared
from maskprior.experiments.short_sequences import EVALUATION_BATCH, encoder_with_prior, learned_targets, shuffled
from maskprior.models.encoder import Encoder
from maskprior.patterns.pattern import Pattern
from maskprior.tasks.arithmetic import DIGITS, TOKENS, ArithmeticTask
from maskprior.training.determinism import make_deterministic
from maskprior.training.loop import Losses, Progress, Setup
from maskprior.training.optimizer import model_optimizer

BASE = 10

Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Pairs:
    """Digit tokens (R, 6) and result digits (R, K), most significant first, as uint8 on the device."""

    inputs: Tensor
    results: Tensor

    def take(self, rows: Tensor) -> "Pairs":
        return Pairs(self.inputs[rows], self.results[rows])


def prepare(config: ArithmeticConfig, seed: int, device: str) -> Prepared:
    """The run of this configuration and seed. All methods of a seed share weights, training pairs and their order."""
    make_deterministic()
    task: ArithmeticTask = tasks.find("arithmetic", config.task)
    table = Pairs(*(torch.from_numpy(part).to(device) for part in data.table(task)))
    split = data.split(config.train_fraction, seed=seed)
    training = table.take(torch.from_numpy(split.train).to(device))
    held_out = torch.from_numpy(split.test).to(device)
    targets = learned_targets(config, training.results, seed)
    sample, probe = (
        table.take(held_out[torch.from_numpy(evenly(len(held_out), wanted))])
        for wanted in (config.sample_pairs, config.probe_pairs)
    )
    pattern = task.patterns[config.pattern](layers=config.model.layers, heads=config.model.heads)
    model = build_model(config, pattern, seed).to(device)
    optimizer = model_optimizer(model, config.optimizer)
    trace = Trace(config.optimizer.steps, lambda: score(model, probe).metrics("test"))
    persistence = Persistence(model, probe.inputs.long(), pattern, config.optimizer)
    in_positions = position_open_mass(model, model.positions(), pattern)

    def batches(step: int) -> Iterator[Batch]:
        return shuffled(training.inputs, targets, batch_size=config.optimizer.batch_size, seed=seed, step=step)

    def loss(batch: Batch) -> Tensor:
        inputs, results = batch
        return F.cross_entropy(digit_logits(model, inputs).flatten(0, 1), results.long().flatten())

    def report(losses: Losses, progress: Progress | None = None) -> Outcome:
        arrays = {**trace.arrays(), **persistence.arrays()}
        on_sample = score(model, sample)
        metrics = on_sample.metrics("sample") | on_sample.metrics("test")
        if config.full_evaluation:
            on_sample = score(model, table.take(held_out), progress)
            metrics |= on_sample.metrics("test")
        metrics |= score(model, training.take(torch.arange(min(len(training.results), config.sample_pairs)))).metrics(
            "seen"
        )
        metrics |= fidelity(arrays, in_positions)
        arrays["digit_accuracy"] = (100 * on_sample.digits_right / on_sample.pairs).astype(np.float32)
        if task.by_carries:
            arrays["sequence_accuracy_by_carries"] = on_sample.accuracy_by_carries()
        labels = {
            "digit_accuracy": [f"10^{k}" for k in range(task.digits - 1, -1, -1)],
            "train_split_sha256": [split.digest],
        }
        return Outcome(metrics, {}, arrays, labels)

    return Prepared(Setup(model, optimizer, config.optimizer, batches, loss, (trace, persistence)), report)


class DigitReadout(nn.Module):
    """The result's digit k is read at token `tokens[k]`: (B, N, D) -> (B, K, D), for one head that all digits share."""

    def __init__(self, tokens: tuple[int, ...]) -> None:
        super().__init__()
        self.tokens = list(tokens)

    def forward(self, x: Tensor) -> Tensor:
        return x[:, self.tokens]


def build_model(config: ArithmeticConfig, pattern: Pattern, seed: int) -> Encoder:
    """The encoder with its prior; its outputs are (B, 10 K), or with the readout `token` (B, K, 10)."""
    shape = {"vocabulary": BASE, "tokens": TOKENS}
    if config.digit_tokens is None:
        digits = tasks.find("arithmetic", config.task).digits
        return encoder_with_prior(config, pattern, seed, outputs=digits * BASE, **shape)
    # A pool has no weights and leaves the head as wide as the network, which is all that the shared head needs.
    pooled = config.model_copy(update={"model": config.model.model_copy(update={"readout": "pool"})})
    model = encoder_with_prior(pooled, pattern, seed, outputs=BASE, **shape)
    model.readout = DigitReadout(config.digit_tokens)
    return model


def digit_logits(model: nn.Module, inputs: Tensor) -> Tensor:
    """(R, 6) digit tokens -> (R, K, 10) logits, all result digits in one forward pass."""
    logits: Tensor = model(inputs.long())
    return logits.reshape(len(logits), -1, BASE)


@dataclass
class Score:
    """Counts over evaluated pairs; `digits_right` per position (K), `by_carries` right and all pairs by carries."""

    pairs: int
    sequences_right: int
    digits_right: np.ndarray
    loss_sum: float
    by_carries: np.ndarray

    def metrics(self, part: str) -> dict[str, float]:
        """Sequence and digit accuracy in percent, cross-entropy per digit in nats."""
        digits = self.pairs * len(self.digits_right)
        prefix = "" if part == "test" else f"{part}_"
        return {
            f"{prefix}sequence_accuracy": 100 * self.sequences_right / self.pairs,
            f"{prefix}digit_accuracy": 100 * float(self.digits_right.sum()) / digits,
            f"{part}_loss": self.loss_sum / digits,
        }

    def accuracy_by_carries(self) -> np.ndarray:
        """Sequence accuracy in percent for 0, 1, 2, 3 carries, NaN where no pair has so many; float32, (4)."""
        right, total = self.by_carries
        return np.divide(100 * right, total, out=np.full(4, np.nan), where=total > 0).astype(np.float32)


@torch.no_grad()
def score(model: nn.Module, pairs: Pairs, progress: Progress | None = None) -> Score:
    """Evaluate on all pairs in batches, in evaluation mode; memory does not grow with their number."""
    count, digits = pairs.results.shape
    found = Score(0, 0, np.zeros(digits), 0.0, np.zeros((2, 4)))
    with evaluation_mode(model):
        for start in range(0, count, EVALUATION_BATCH):
            part = pairs.take(torch.arange(start, min(start + EVALUATION_BATCH, count), device=pairs.results.device))
            logits, expected = digit_logits(model, part.inputs), part.results.long()
            right = logits.argmax(-1) == expected
            whole = right.all(1)
            found.pairs += len(expected)
            found.sequences_right += int(whole.sum())
            found.digits_right += right.double().sum(0).numpy(force=True)
            found.loss_sum += F.cross_entropy(logits.flatten(0, 1), expected.flatten(), reduction="sum").double().item()
            number = carries(part.inputs).numpy(force=True)
            found.by_carries[0] += np.bincount(number[whole.numpy(force=True)], minlength=4)
            found.by_carries[1] += np.bincount(number, minlength=4)
            if progress is not None:
                progress(found.pairs, count, found.loss_sum / (found.pairs * digits))
    return found


def carries(inputs: Tensor) -> Tensor:
    """How many digit positions carry when the two numbers are added: (R, 6) -> (R), 0 to 3."""
    carry = torch.zeros(len(inputs), dtype=torch.long, device=inputs.device)
    total = torch.zeros_like(carry)
    for position in range(DIGITS - 1, -1, -1):
        carry = (inputs[:, position].long() + inputs[:, position + DIGITS].long() + carry >= BASE).long()
        total += carry
    return total
