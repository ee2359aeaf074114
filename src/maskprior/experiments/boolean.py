"""Boolean extrapolation: data, model, method, loss and metrics of one run (paper 5.1, Tables 1 and 4)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from maskprior.attention import mask_parameters, query_key_parameters
from maskprior.config.boolean import BooleanConfig
from maskprior.datasets import boolean as data
from maskprior.diagnostics.persistence import position_open_mass
from maskprior.experiments.observers import Persistence, Trace
from maskprior.experiments.outcome import Outcome, Prepared
from maskprior.initialization.mask import write_mask, write_zero_mask
from maskprior.initialization.structured import write_structured_opt, write_structured_svd
from maskprior.models.encoder import Block, Embedding, Encoder, NormPool, PoolNorm
from maskprior.patterns.boolean import pattern as boolean_pattern
from maskprior.patterns.pattern import Pattern
from maskprior.training.determinism import METHOD, MODEL, ORDER, generator, make_deterministic, stream_seed
from maskprior.training.loop import Losses, Setup
from maskprior.training.optimizer import build_optimizer

EVALUATION_BATCH = 2048
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
    train_x, test_x = train_and_test(config, seed)
    training, test = rows(config.task, train_x, device), rows(config.task, test_x, device)
    probe = rows(config.task, data.probe_rows(config.dimension, config.probe_completions), device)
    pattern = boolean_pattern(
        config.task,
        config.pattern,
        layers=config.model.layers,
        heads=config.model.heads,
        tokens=config.dimension,
    )
    torch.manual_seed(stream_seed(seed, MODEL))
    model = build_model(config)
    write_prior(model, config, pattern, generator(seed, METHOD))
    model.to(device)
    optimizer = model_optimizer(model, config)
    trace = Trace(config.optimizer.steps, lambda: probe_measures(config.task, model, probe))
    # A quarter of the probe batch, still balanced, is enough for maps averaged over it.
    persistence = Persistence(model, probe.tokens[::4], pattern, config.optimizer)
    position_fidelity = float(np.nanmean(position_open_mass(model, model.positions(), pattern)))

    def batches(step: int) -> Iterator[Batch]:
        return shuffled(training, config.optimizer.batch_size, seed, step)

    def loss(batch: Batch) -> Tensor:
        tokens, targets = batch
        return F.mse_loss(model(tokens).squeeze(1), targets)

    def report(losses: Losses) -> Outcome:
        arrays = {**trace.arrays(), **persistence.arrays()}
        metrics = final_metrics(config.task, model, test)
        last = losses.values[-100:]
        metrics |= {"train_loss": float(np.mean(last)) if last else float("nan")} | best(arrays) | fidelity(arrays)
        metrics["init_fidelity_position_open_mass"] = position_fidelity
        names = [data.monomial_name(monomial) for monomial in data.monomials(config.task)]
        coefficients = predict(model, test).numpy(force=True) @ data.characters(test.x, data.monomials(config.task))
        arrays["fourier_final"] = (coefficients / len(test.x)).astype(np.float32)
        labels = {"trace/fourier": names, "fourier_final": names}
        return Outcome(metrics, reference(config.task, test), arrays, labels)

    return Prepared(Setup(model, optimizer, config.optimizer, batches, loss, (trace, persistence)), report)


def train_and_test(config: BooleanConfig, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The seen part and the whole cube, or for majority3 the sampled sets of this seed."""
    if config.sampled:
        return data.sampled_sets(config.task, dimension=config.dimension, size=config.sample_size, seed=seed)
    cube = data.cube(config.dimension)
    return cube[data.seen(config.task, cube)], cube


def rows(task: str, x: np.ndarray, device: str) -> Rows:
    tokens = torch.from_numpy((x + 1) // 2).long()
    targets, seen = torch.from_numpy(data.target(task, x)), torch.from_numpy(data.seen(task, x))
    return Rows(x, tokens.to(device), targets.to(device), seen.to(device))


def build_model(config: BooleanConfig) -> Encoder:
    m = config.model
    scale = config.svd.position_scale if config.method == "structured_svd" else config.position_scale
    embedding = Embedding(
        2,
        m.dim,
        tokens=config.dimension,
        token_std=m.embedding_std,
        position_std=m.position_std,
        position_scale=scale,
    )
    shape = {"heads": m.heads, "head_dim": m.head_dim, "mlp_dim": m.mlp_dim, "tokens": config.dimension}
    blocks = [Block(m.dim, form=config.mask.form, **shape) for _ in range(m.layers)]
    readout = PoolNorm(m.dim) if m.readout == "pool_norm" else NormPool(m.dim)
    return Encoder(embedding, blocks, readout, nn.Linear(m.dim, 1))


def write_prior(model: Encoder, config: BooleanConfig, pattern: Pattern, noise: torch.Generator) -> None:
    """Put the pattern where the method keeps it."""
    match config.method:
        case "mask" | "mask_fixed":
            learnable = config.method == "mask"
            write_mask(model, pattern, amplitude=config.mask.amplitude, learnable=learnable, form=config.mask.form)
        case "mask_zero":
            write_zero_mask(model)
        case "structured_svd":
            options = config.svd.model_dump(exclude={"position_scale"})
            write_structured_svd(model, model.positions(), pattern, generator=noise, **options)
        case "structured_opt":
            write_structured_opt(model, model.positions(), pattern, generator=noise, **config.opt.model_dump())


def model_optimizer(model: nn.Module, config: BooleanConfig) -> torch.optim.Optimizer:
    masks, query_keys = mask_parameters(model), query_key_parameters(model)
    special = {id(parameter) for parameter in [*masks, *query_keys]}
    others = [parameter for parameter in model.parameters() if id(parameter) not in special]
    return build_optimizer(config.optimizer, masks=masks, query_keys=query_keys, others=others)


def shuffled(training: Rows, batch_size: int, seed: int, step: int) -> Iterator[Batch]:
    """Batches from `step` on: each epoch is a permutation that depends on the seed and the epoch alone."""
    count = len(training.targets)
    per_epoch = -(-count // batch_size)
    epoch, first = divmod(step, per_epoch)
    while True:
        order = torch.randperm(count, generator=generator(seed, ORDER, epoch)).to(training.targets.device)
        for index in order.split(batch_size)[first:]:
            yield training.tokens[index], training.targets[index]
        epoch, first = epoch + 1, 0


@torch.no_grad()
def predict(model: nn.Module, rows: Rows) -> Tensor:
    """The network's output on every row, in evaluation mode: (R)."""
    training = model.training
    model.eval()
    outputs = torch.cat([model(tokens).squeeze(1) for tokens in rows.tokens.split(EVALUATION_BATCH)])
    model.train(training)
    return outputs


def final_metrics(task: str, model: nn.Module, test: Rows) -> dict[str, float]:
    return scores(predict(model, test), test)


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


def probe_measures(task: str, model: nn.Module, probe: Rows) -> dict[str, float | np.ndarray]:
    """The function on the probe batch: losses, accuracies, the mean unseen output, Fourier coefficients (K)."""
    outputs = predict(model, probe)
    kept = ("test_loss", "test_accuracy", "seen_loss", "unseen_loss", "unseen_accuracy", "unseen_mean_prediction")
    characters = data.characters(probe.x, data.monomials(task))
    found = scores(outputs, probe)
    return {**{name: found[name] for name in kept}, "fourier": outputs.numpy(force=True) @ characters / len(probe.x)}


def best(arrays: dict[str, np.ndarray]) -> dict[str, float]:
    """The lowest test loss during training, estimated on the probe batch, and its step."""
    losses = arrays["trace/test_loss"]
    at = int(np.argmin(np.where(np.isnan(losses), np.inf, losses)))
    return {"best_test_loss": float(losses[at]), "best_step": float(arrays["trace/step"][at])}


def fidelity(arrays: dict[str, np.ndarray]) -> dict[str, float]:
    """How much of the pattern is there before training, averaged over layers and heads."""
    names = {"map_alignment": "alignment", "open_mass": "open_mass", "open_fraction": "open_mass_chance"}
    return {f"init_fidelity_{to}": float(np.nanmean(arrays[f"persistence/{of}"][0])) for of, to in names.items()}


def reference(task: str, test: Rows) -> dict[str, float]:
    """What the exact minimum-degree interpolator scores on the same rows."""
    found = scores(torch.from_numpy(data.interpolator(task, test.x)).to(test.targets.device), test)
    return {f"mdi_{name}": found[name] for name in ("test_loss", "test_accuracy", "test_sign_accuracy")}
