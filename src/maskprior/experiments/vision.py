"""Image classification with a vision transformer: data, model, method, loss and metrics of one run (paper 5.3)."""

import time
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from timm.optim import param_groups_weight_decay
from torch import Tensor, nn
from torch.nn import functional as F

from maskprior import methods
from maskprior.attention import mask_parameters
from maskprior.config.vision import VisionConfig, VisionOptimizerConfig
from maskprior.diagnostics.persistence import layer_states, position_open_mass
from maskprior.evaluation import evaluation_mode
from maskprior.experiments.observers import Arrays, Persistence, Trace, evenly, fidelity
from maskprior.experiments.outcome import Outcome, Prepared
from maskprior.experiments.vision_data import Batch, Noise, Pictures, Rows, open_pictures, training_batches
from maskprior.initialization.mimetic import write_mimetic_value_out
from maskprior.models.vit import Vit
from maskprior.patterns import vision as patterns
from maskprior.patterns.vision import PatchPattern
from maskprior.training.determinism import METHOD, MODEL, generator, make_deterministic, stream_seed
from maskprior.training.loop import Losses, Progress, Setup
from maskprior.training.optimizer import build_optimizer

VALUE_OUT = 1  # the method's second stream: W_V and W_O are the same for all methods that set them


def prepare(config: VisionConfig, seed: int, device: str) -> Prepared:
    """The run of this configuration and seed. All methods of a seed share other weights, images and augmentation."""
    return prepare_with(open_pictures(config, seed, device), config, seed, device)


def prepare_without_data(config: VisionConfig, seed: int, device: str) -> Prepared:
    """The same on random pixels of the right shape: for a dry run where the data are not at hand."""
    return prepare_with(Noise(config), config, seed, device)


def prepare_with(pictures: Pictures, config: VisionConfig, seed: int, device: str) -> Prepared:
    make_deterministic()
    every_epoch, whole = evenly(pictures.test_size, config.epoch_images), evenly(pictures.test_size, None)
    probe = torch.cat([pixels for pixels, _ in pictures.test(evenly(pictures.test_size, config.probe_images))]).to(
        device
    )
    pattern = vision_pattern(config)
    model = vit_with_prior(config, pattern, seed).to(device)
    optimizer = vit_optimizer(model, config.optimizer)
    trace = Trace(
        config.optimizer.steps,
        lambda: evaluate(model, pictures, every_epoch, device),
        every=config.optimizer.steps_per_epoch,
    )
    persistence = Persistence(model, probe, pattern, config.optimizer)
    in_positions = position_open_mass(model, model.positions(), pattern)
    watch = Stopwatch()

    def batches(step: int) -> Iterator[Batch]:
        return watch.over(training_batches(config, pictures, seed=seed, step=step, device=device))

    def loss(batch: Batch) -> Tensor:
        pixels, targets = batch
        with torch.autocast(device, torch.bfloat16, enabled=config.autocast and device == "cuda"):
            logits = model(pixels)
        smoothing = 0.0 if targets.is_floating_point() else config.augmentation.label_smoothing
        return F.cross_entropy(logits.float(), targets, label_smoothing=smoothing)

    def report(losses: Losses, progress: Progress | None = None) -> Outcome:
        arrays = {**trace.arrays(), **persistence.arrays()}
        final = evaluate(model, pictures, whole, device)
        last = losses.values[-config.optimizer.steps_per_epoch :]
        metrics = best(arrays, config.optimizer.steps_per_epoch)
        metrics |= {"last_top1": final["test_top1"], "test_loss": final["test_loss"]}
        metrics |= {"train_loss": float(np.mean(last)) if last else float("nan")}
        metrics |= fidelity(arrays, in_positions)
        levels = mask_levels(model, persistence, pattern)
        metrics |= {f"mask_{name}": float(np.nanmean(value)) for name, value in levels.items()}
        arrays |= {f"mask/{name}": value for name, value in levels.items()}
        arrays = kept(arrays, model, probe, list(config.map_layers))
        versions = {name: version(name) for name in ("timm", "torchvision", "pillow")}
        return Outcome(metrics, {}, arrays, {}, versions | {"speed": watch.speed()})

    return Prepared(Setup(model, optimizer, config.optimizer, batches, loss, (trace, persistence)), report)


def vision_pattern(config: VisionConfig) -> PatchPattern:
    m = config.model
    return patterns.pattern(config.pattern, layers=m.layers, heads=m.heads, side=m.image_size // m.patch_size)


def vit_with_prior(config: VisionConfig, pattern: PatchPattern, seed: int) -> Vit:
    """The network with the prior where the method keeps it. All methods of a seed share their other weights."""
    torch.manual_seed(stream_seed(seed, MODEL))
    m, method = config.model, methods.find(config)
    model = Vit(
        classes=config.classes,
        form=config.mask.form,
        position_scale=method.position_scale(config),
        **m.model_dump(exclude={"head_dim"}),
    )
    method.write(model, config, pattern, generator(seed, METHOD))
    if config.vproj == "mimetic":
        i, z = config.mimetic.value_out_identity, config.mimetic.value_out_noise
        write_mimetic_value_out(model, identity=i, noise=z, generator=generator(seed, METHOD, VALUE_OUT))
    return model


def vit_optimizer(model: Vit, config: VisionOptimizerConfig) -> torch.optim.Optimizer:
    """timm's groups: no decay for biases, norms, position embedding and class token; M has a decay of its own."""
    masks = mask_parameters(model)
    undecayed, decayed = param_groups_weight_decay(model, 1.0, no_weight_decay_list=model.no_weight_decay())
    others = [p for p in decayed["params"] if not any(p is m for m in masks)]
    return build_optimizer(config, masks=masks, others=others, undecayed=undecayed["params"])


@torch.no_grad()
def evaluate(model: nn.Module, pictures: Pictures, rows: Rows, device: str) -> dict[str, float]:
    """Top-1 accuracy in percent and cross-entropy in nats on these test images, in evaluation mode and float32."""
    right, loss = 0, 0.0
    with evaluation_mode(model):
        for pixels, labels in pictures.test(rows):
            logits, expected = model(pixels.to(device)), labels.to(device)
            right += int((logits.argmax(-1) == expected).sum())
            loss += F.cross_entropy(logits, expected, reduction="sum").item()
    return {"test_top1": 100 * right / len(rows), "test_loss": loss / len(rows)}


def best(arrays: Arrays, steps_per_epoch: int) -> dict[str, float]:
    """The highest top-1 after an epoch, on the test images looked at after each, and the number of that epoch."""
    found = arrays["trace/test_top1"]
    at = int(np.argmax(found))
    return {"best_top1": float(found[at]), "best_epoch": float(arrays["trace/step"][at] / steps_per_epoch)}


@torch.no_grad()
def mask_levels(model: nn.Module, persistence: Persistence, pattern: PatchPattern) -> Arrays:
    """Mean M over open and over closed entries of the informative rows at the end, and as decay alone would leave it.

    Name -> (L, H), empty without a mask. The entries of the class token are left out.
    """
    found: Arrays = {}
    rows = ~pattern.neutral_rows[..., None]
    patches = np.arange(pattern.open.shape[-1]) >= pattern.prefix
    masks = {"": mask_parameters(model), "_decay_only": persistence.decay_only.masks}
    for suffix, layers in masks.items():
        if layers:
            values = torch.stack(list(layers)).numpy(force=True)
            for name, chosen in (("open", rows & pattern.open), ("closed", rows & ~pattern.open & patches)):
                found[f"{name}{suffix}"] = np.mean(values, axis=(2, 3), where=chosen)
    return found


def kept(arrays: Arrays, model: nn.Module, probe: Tensor, layers: list[int]) -> Arrays:
    """The arrays of a record that is to stay small: of its maps the final ones of some layers, and with them the
    attention of the first test image, (layers, H, N, N)."""
    first = np.stack([state.attention[0].numpy(force=True) for state in layer_states(model, probe[:1])])
    maps = {"maps/attention_first_image": first.astype(np.float16)}
    maps |= {name: arrays.pop(name) for name in list(arrays) if name.startswith("maps/")}
    del maps["maps/attention_initial"]
    return arrays | {name: values[layers] for name, values in maps.items()}


class Stopwatch:
    """How many images a second a training uses, its evaluations included, and what share of it waits for them."""

    def __init__(self) -> None:
        self.images, self.waited, self.elapsed = 0, 0.0, 0.0

    def over(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        started = time.perf_counter()
        while True:
            asked = time.perf_counter()
            self.elapsed = asked - started
            batch = next(batches)
            self.waited += time.perf_counter() - asked
            self.images += len(batch[0])
            yield batch

    def speed(self) -> dict[str, Any]:
        """Of this process alone, if the run was interrupted; empty before the second batch."""
        if not self.elapsed:
            return {}
        return {
            "images_per_second": round(self.images / self.elapsed, 1),
            "data_share": round(self.waited / self.elapsed, 4),
        }
