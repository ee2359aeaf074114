"""A run built exactly as it would be trained, and one real update of it on the CPU: what a scale costs beforehand."""

import importlib
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from maskprior.attention import mask_parameters
from maskprior.config.base import OptimizerConfig
from maskprior.errors import DATA, UserError
from maskprior.experiments.outcome import Prepared
from maskprior.runs.spec import Run, resolve
from maskprior.training.loop import Setup
from maskprior.training.optimizer import set_learning_rate

MIB = 2**20
# Bytes a trained parameter takes in float32 with Adam: itself, its gradient, two moments.
STATE_BYTES = 16


@dataclass(frozen=True)
class Rehearsal:
    """What a dry run found.

    Attributes:
        stand_in: why inputs are random; empty for real data.
        input_shape, output_shape: of the model, of one sample.
        rates: (step, name, learning rate) at the start, the end of the warm-up, the middle and the last step.
        fixed_bytes, sample_bytes: what autograd keeps for the backward pass, of no sample and of each.
        part: samples that were taken at once.
        seconds, load_seconds: CPU time of the update and of its batch, whatever else the machine is doing.
    """

    run: Run
    stand_in: str
    parameters: int
    trained: int
    mask_parameters: int
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    batch_size: int
    steps: int
    rates: tuple[tuple[int, str, float], ...]
    loss: float
    fixed_bytes: int
    sample_bytes: int
    part: int
    peak_mib: float
    load_seconds: float
    seconds: float

    @property
    def hours(self) -> float:
        """Of all updates on this CPU, their batches included and evaluations not."""
        return self.steps * (self.seconds + self.load_seconds) / 3600

    @property
    def whole_batch_mib(self) -> float:
        """Estimate for the batch at once, in float32: parameters, gradients and Adam's moments, and all activations."""
        return (STATE_BYTES * self.trained + self.fixed_bytes + self.sample_bytes * self.batch_size) / MIB


def rehearse(run: Run, *, memory_mib: int = 1024) -> Rehearsal:
    """Build the run, do its first update in parts whose activations fit `memory_mib`, and measure."""
    prepared, stand_in = _prepare(run)
    setup = prepared.setup
    started = time.process_time()
    batch = next(setup.batches(0))
    load_seconds = time.process_time() - started
    size = len(batch[0])
    setup.model.train()
    with _shapes(setup.model) as shapes:
        one, two = (saved_bytes(setup, tuple(tensor[:count] for tensor in batch)) for count in (1, 2))
    sample_bytes, fixed_bytes = two - one, 2 * one - two
    part = max(1, min(size, (memory_mib * MIB - fixed_bytes) // max(1, sample_bytes)))
    set_learning_rate(setup.optimizer, setup.config, 0)
    started = time.process_time()
    loss = update_in_parts(setup, batch, part=part)
    seconds = time.process_time() - started
    parameters = list(setup.model.parameters())
    return Rehearsal(
        run=run,
        stand_in=stand_in,
        parameters=sum(p.numel() for p in parameters),
        trained=sum(p.numel() for p in parameters if p.requires_grad),
        mask_parameters=sum(m.numel() for m in mask_parameters(setup.model)),
        input_shape=shapes["input"],
        output_shape=shapes["output"],
        batch_size=size,
        steps=setup.config.steps,
        rates=rates(setup.config),
        loss=loss,
        fixed_bytes=fixed_bytes,
        sample_bytes=sample_bytes,
        part=part,
        peak_mib=_peak_mib(),
        load_seconds=load_seconds,
        seconds=seconds,
    )


def _prepare(run: Run) -> tuple[Prepared, str]:
    """The run, on random inputs where its data are missing and its experiment can do without; and why."""
    module, config = importlib.import_module(f"maskprior.experiments.{run.experiment}"), resolve(run)
    try:
        return module.prepare(config, run.seed, "cpu"), ""
    except UserError as error:
        if error.exit_code != DATA or not hasattr(module, "prepare_without_data"):
            raise
        return module.prepare_without_data(config, run.seed, "cpu"), str(error)


def update_in_parts(setup: Setup, batch: tuple[Tensor, ...], *, part: int) -> float:
    """One update on a batch, `part` samples at a time, and its loss.

    The loss is a mean over the batch, so the parts' losses, weighted by their shares, add up to it, and the gradients
    to its gradient: the same update as on the whole batch up to rounding, but for dropout and stochastic depth, which
    are drawn part by part.
    """
    total = len(batch[0])
    setup.model.zero_grad()
    found = 0.0
    for tensors in zip(*(tensor.split(part) for tensor in batch), strict=True):
        loss = setup.loss(tensors) * (len(tensors[0]) / total)
        loss.backward()
        found += loss.item()
    setup.optimizer.step()
    return found


def saved_bytes(setup: Setup, batch: tuple[Tensor, ...]) -> int:
    """What autograd keeps for the backward pass of this batch beside the parameters, each storage once."""
    known = {parameter.untyped_storage().data_ptr() for parameter in setup.model.parameters()}
    kept: dict[int, int] = {}
    alive = []

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            kept[storage.data_ptr()] = storage.nbytes()
            alive.append(storage)  # or its address could be used again
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        setup.loss(batch)
    return sum(kept.values())


def rates(config: OptimizerConfig) -> tuple[tuple[int, str, float], ...]:
    """The learning rate at the start, after the warm-up, in the middle and at the last step."""
    warmup = config.warmup_steps or getattr(config, "warmup_epochs", 0) * getattr(config, "steps_per_epoch", 0)
    places = {"start": 0, "after warm-up": warmup, "middle": config.steps // 2, "last": config.steps - 1}
    return tuple((step, name, config.lr * config.factor(step)) for name, step in places.items())


def text(found: Rehearsal) -> str:
    """The dry run for people, one quantity a line."""
    n = found
    shape = f"{n.batch_size} samples of {_shape(n.input_shape)} -> {_shape(n.output_shape)}"
    kept, size = n.sample_bytes / MIB, f"{STATE_BYTES} bytes a trained parameter, and what autograd keeps"
    lines = {
        "run": f"{n.run.name} at scale {n.run.scale}, on the CPU; nothing was written",
        "inputs": f"random: {n.stand_in}" if n.stand_in else "the run's own data",
        "parameters": f"{n.parameters:,}, of which M {n.mask_parameters:,}; trained {n.trained:,}",
        "shapes": shape,
        "steps": f"{n.steps:,}",
        **{f"rate, {name}": f"{rate:.4g} (step {step:,})" for step, name, rate in n.rates},
        "first loss": f"{n.loss:.6g}",
        "update": f"{n.seconds:.1f} s of CPU time in parts of {n.part} samples; its batch {n.load_seconds:.1f} s",
        "memory": f"{n.peak_mib:,.0f} MiB at the process's peak; autograd keeps {kept:.2f} MiB a sample",
        "estimated time": f"{_duration(n.hours)} on one thread of this CPU: {n.steps:,} such updates, no evaluation",
        "estimated memory": f"{n.whole_batch_mib:,.0f} MiB for a batch at once in float32: {size}",
    }
    return "\n".join(f"{name:24}{value}" for name, value in lines.items())


def _duration(hours: float) -> str:
    return f"{hours:,.1f} hours" if hours >= 1 else f"{60 * hours:.1f} minutes"


def _shape(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes)) or "one number"


@contextmanager
def _shapes(model: nn.Module) -> Iterator[dict[str, tuple[int, ...]]]:
    """Shapes of one sample of the model's input and output, from its next call."""
    found: dict[str, tuple[int, ...]] = {}

    def note(_: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        found.update(input=tuple(inputs[0].shape[1:]), output=tuple(output.shape[1:]))

    hook = model.register_forward_hook(note)
    try:
        yield found
    finally:
        hook.remove()


def _peak_mib() -> float:
    """The largest resident size of this process so far; the kernel counts it in KiB, in bytes on macOS."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (MIB if sys.platform == "darwin" else 1024)
