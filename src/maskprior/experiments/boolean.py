"""Boolean extrapolation: data, model, method, loss and metrics of one run (paper 5.1, Tables 1 and 4)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from maskprior import tasks
from maskprior.config.boolean import BooleanConfig
from maskprior.datasets import boolean as data
from maskprior.diagnostics.persistence import position_open_mass
from maskprior.experiments.observers import Persistence, Trace, fidelity
from maskprior.experiments.outcome import Outcome, Prepared
from maskprior.experiments.short_sequences import encoder_with_prior, learned_targets, predict, shuffled
from maskprior.tasks.boolean import BooleanTask
from maskprior.training.determinism import make_deterministic
from maskprior.training.loop import Losses, Progress, Setup
from maskprior.training.optimizer import model_optimizer

TOLERANCE = 0.5

Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Rows:
    """Inputs (R, d) of +-1 as token indices (+1 is token 1), targets (R) and which rows lie in the seen part (R)."""

    x: np.ndarray
    tokens: Tensor
    targets: Tensor
    seen: Tensor


def prepare(config: BooleanConfig, seed: int, device: str) -> Prepared:
    """The run of this configuration and seed. All methods of a seed share weights, data and their order."""
    make_deterministic()
    task: BooleanTask = tasks.find("boolean", config.task)
    train_x, test_x = train_and_test(config, task, seed)
    training, test = rows(task, train_x, device), rows(task, test_x, device)
    targets = learned_targets(config, training.targets, seed)
    probe = rows(task, data.probe_rows(config.dimension, config.probe_completions), device)
    shape = {"layers": config.model.layers, "heads": config.model.heads, "tokens": config.dimension}
    pattern = task.patterns[config.pattern](**shape)
    model = encoder_with_prior(config, pattern, seed, vocabulary=2, tokens=config.dimension, outputs=1).to(device)
    optimizer = model_optimizer(model, config.optimizer)
    trace = Trace(config.optimizer.steps, lambda: probe_measures(task, model, probe))
    # A quarter of the probe batch, still balanced, is enough for maps averaged over it.
    persistence = Persistence(model, probe.tokens[::4], pattern, config.optimizer)
    in_positions = position_open_mass(model, model.positions(), pattern)

    def batches(step: int) -> Iterator[Batch]:
        return shuffled(training.tokens, targets, batch_size=config.optimizer.batch_size, seed=seed, step=step)

    def loss(batch: Batch) -> Tensor:
        tokens, targets = batch
        return F.mse_loss(model(tokens).squeeze(1), targets)

    def report(losses: Losses, progress: Progress | None = None) -> Outcome:
        arrays = {**trace.arrays(), **persistence.arrays()}
        outputs = predict(model, test.tokens).squeeze(1)
        metrics = scores(outputs, test)
        last = losses.values[-100:]
        metrics |= {"train_loss": float(np.mean(last)) if last else float("nan")} | best(arrays)
        metrics |= fidelity(arrays, in_positions)
        names = [data.monomial_name(monomial) for monomial in task.followed]
        coefficients = outputs.numpy(force=True) @ data.characters(test.x, task.followed)
        arrays["fourier_final"] = (coefficients / len(test.x)).astype(np.float32)
        labels = {"trace/fourier": names, "fourier_final": names}
        return Outcome(metrics, reference(task, test), arrays, labels)

    return Prepared(Setup(model, optimizer, config.optimizer, batches, loss, (trace, persistence)), report)


def train_and_test(config: BooleanConfig, task: BooleanTask, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The seen part and the whole cube, or for majority3 the sampled sets of this seed."""
    if config.sampled:
        return data.sampled_sets(task.seen, dimension=config.dimension, size=config.sample_size, seed=seed)
    cube = data.cube(config.dimension)
    return cube[task.seen(cube)], cube


def rows(task: BooleanTask, x: np.ndarray, device: str) -> Rows:
    tokens = torch.from_numpy((x + 1) // 2).long()
    targets, seen = torch.from_numpy(task.target(x)), torch.from_numpy(task.seen(x))
    return Rows(x, tokens.to(device), targets.to(device), seen.to(device))


def scores(outputs: Tensor, rows: Rows) -> dict[str, float]:
    """MSE, accuracy (|error| < 0.5) and sign accuracy in percent on all, seen and unseen rows; mean unseen output."""
    error = (outputs - rows.targets).double()
    right = error.abs() < TOLERANCE
    same_sign = outputs.sign() == rows.targets.sign()
    found = {"unseen_mean_prediction": outputs[~rows.seen].double().mean().item()}
    for name, part in (("test", torch.ones_like(rows.seen)), ("seen", rows.seen), ("unseen", ~rows.seen)):
        found[f"{name}_loss"] = error[part].square().mean().item()
        found[f"{name}_accuracy"] = 100 * right[part].double().mean().item()
        found[f"{name}_sign_accuracy"] = 100 * same_sign[part].double().mean().item()
    return found


def probe_measures(task: BooleanTask, model: nn.Module, probe: Rows) -> dict[str, float | np.ndarray]:
    """The function on the probe batch: losses, accuracies, the mean unseen output, Fourier coefficients (K)."""
    outputs = predict(model, probe.tokens).squeeze(1)
    kept = ("test_loss", "test_accuracy", "seen_loss", "unseen_loss", "unseen_accuracy", "unseen_mean_prediction")
    characters = data.characters(probe.x, task.followed)
    found = scores(outputs, probe)
    return {**{name: found[name] for name in kept}, "fourier": outputs.numpy(force=True) @ characters / len(probe.x)}


def best(arrays: dict[str, np.ndarray]) -> dict[str, float]:
    """The lowest test loss during training, estimated on the probe batch, and its step."""
    losses = arrays["trace/test_loss"]
    at = int(np.argmin(np.where(np.isnan(losses), np.inf, losses)))
    return {"best_test_loss": float(losses[at]), "best_step": float(arrays["trace/step"][at])}


def reference(task: BooleanTask, test: Rows) -> dict[str, float]:
    """What the minimum-degree interpolator scores on the same rows."""
    found = scores(torch.from_numpy(task.interpolate(test.x)).to(test.targets.device), test)
    return {f"mdi_{name}": found[name] for name in ("test_loss", "test_accuracy", "test_sign_accuracy")}
