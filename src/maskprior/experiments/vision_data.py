"""The images of a vision run: a whole split in memory with cheap augmentation, or timm's transforms image by image."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from timm.data import Mixup, create_transform
from torch import Tensor

from maskprior.config.vision import AugmentationConfig, VisionConfig
from maskprior.datasets import images
from maskprior.datasets.images import IMAGENET_MEAN, IMAGENET_STD, Images
from maskprior.errors import UserError
from maskprior.training.determinism import DEPTH, MIX, stream_seed

EVALUATION_BATCH = 256

Batch = tuple[Tensor, Tensor]
Rows = NDArray[np.int64]


class Pictures(Protocol):
    """Train and test images with their labels, as (B, 3, S, S) and (B,) on the CPU."""

    train_size: int
    test_size: int

    def train(self, epoch: int, skip: int) -> Iterator[Batch]:
        """An epoch's augmented batches without the first `skip` ones."""

    def test(self, rows: Rows) -> Iterator[Batch]:
        """These test images in order, not augmented."""


def open_pictures(config: VisionConfig, seed: int, device: str) -> Pictures:
    """The run's images. UserError if the configuration counts other steps in an epoch than the data have."""
    training, testing = (images.load_labels(config.dataset, split) for split in ("train", config.test_split))
    size, wanted = config.optimizer.batch_size, config.optimizer.steps_per_epoch
    if (steps := len(training) // size) != wanted:
        raise UserError(
            f"optimizer.steps_per_epoch: {wanted}, but {config.dataset} has {steps} batches of {size} images"
        )
    if config.augmentation.policy == "timm":
        return Transformed(config, seed, len(training), len(testing), workers=loading_workers(device))
    return InMemory(
        images.load(config.dataset, "train"),
        images.load(config.dataset, config.test_split),
        size,
        seed,
    )


def loading_workers(device: str) -> int:
    """Processes that load images. No bit depends on it: a GPU needs some, one CPU core none."""
    return min(8, (os.cpu_count() or 1) - 1) if device == "cuda" else 0


@dataclass
class InMemory:
    """Pad by 4 pixels, crop and mirror; normalised by the train split's own statistics."""

    training: Images
    testing: Images
    batch_size: int
    seed: int

    def __post_init__(self) -> None:
        self.train_size, self.test_size = len(self.training), len(self.testing)

    def train(self, epoch: int, skip: int) -> Iterator[Batch]:
        return images.train_batches(self.training, batch_size=self.batch_size, seed=self.seed, epoch=epoch, skip=skip)

    def test(self, rows: Rows) -> Iterator[Batch]:
        part = replace(self.testing, pixels=self.testing.pixels[rows], labels=self.testing.labels[rows])
        return images.eval_batches(part, batch_size=EVALUATION_BATCH)


@dataclass
class Transformed:
    """timm's transforms: random resized crop, mirror, RandAugment, erasing; resize and centre crop for evaluation."""

    config: VisionConfig
    seed: int
    train_size: int
    test_size: int
    workers: int

    def train(self, epoch: int, skip: int) -> Iterator[Batch]:
        return iter(
            images.loader(
                self.config.dataset,
                "train",
                transform(self.config.augmentation, self.config.model.image_size, training=True),
                batch_size=self.config.optimizer.batch_size,
                seed=self.seed,
                epoch=epoch,
                train=True,
                skip=skip,
                workers=self.workers,
            )
        )

    def test(self, rows: Rows) -> Iterator[Batch]:
        return iter(
            images.loader(
                self.config.dataset,
                self.config.test_split,
                transform(self.config.augmentation, self.config.model.image_size, training=False),
                batch_size=EVALUATION_BATCH,
                seed=self.seed,
                epoch=0,
                train=False,
                rows=rows,
                workers=self.workers,
            )
        )


class Noise:
    """Random pixels and labels in the shape of the data: enough for one epoch and for the probe batch."""

    def __init__(self, config: VisionConfig) -> None:
        self.config = config
        self.train_size = config.optimizer.batch_size * config.optimizer.steps_per_epoch
        self.test_size = config.probe_images

    def train(self, epoch: int, skip: int) -> Iterator[Batch]:
        for _ in range(skip, self.config.optimizer.steps_per_epoch):
            yield self._draw(self.config.optimizer.batch_size)

    def test(self, rows: Rows) -> Iterator[Batch]:
        yield self._draw(len(rows))

    def _draw(self, count: int) -> Batch:
        side = self.config.model.image_size
        return torch.randn(count, 3, side, side), torch.randint(self.config.classes, (count,))


def transform(config: AugmentationConfig, side: int, *, training: bool) -> images.Transform:
    """timm's transform of one PIL image to a normalised float32 (3, S, S)."""
    made: images.Transform = create_transform(
        side,
        is_training=training,
        auto_augment=config.auto_augment,
        re_prob=config.erase,
        re_mode="pixel",
        crop_pct=config.crop_fraction,
        interpolation="bicubic",
        mean=IMAGENET_MEAN,
        std=IMAGENET_STD,
    )
    return made


def mixer(config: VisionConfig) -> Mixup | None:
    """timm's mixup and cutmix, one of them for each batch with even chances; None where both are off."""
    a = config.augmentation
    if not (a.mixup or a.cutmix):
        return None
    return Mixup(a.mixup, a.cutmix, label_smoothing=a.label_smoothing, num_classes=config.classes)


def training_batches(config: VisionConfig, pictures: Pictures, *, seed: int, step: int, device: str) -> Iterator[Batch]:
    """Batches from update `step` on: images (B, 3, S, S) with labels (B,), or with mixed targets (B, K).

    All of it depends on the seed and the number of the update alone, as does torch's global generator, which is seeded
    before each batch and from which the network's stochastic depth is drawn.
    """
    mix = mixer(config)
    epoch, skip = divmod(step, config.optimizer.steps_per_epoch)
    while True:
        for pixels, labels in pictures.train(epoch, skip):
            pixels, targets = pixels.to(device), labels.to(device)
            if mix is not None:
                with images.seeded(seed, MIX, step):
                    pixels, targets = mix(pixels, targets)
            torch.manual_seed(stream_seed(seed, DEPTH, step))
            step += 1
            yield pixels, targets
        epoch, skip = epoch + 1, 0
