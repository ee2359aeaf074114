"""Images as tensors, for the vision experiment.

Shape letters: N images of a split, B of a batch, C = 3 channels (RGB), S = side in pixels.

Two ways, both deterministic in (seed, epoch, row) and independent of the number of workers:
- `load` and `train_batches` or `eval_batches`: a whole split in memory, crop and mirror on tensors;
- `loader`: any PIL transform (timm's RandAugment and so on) per image, in worker processes.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from maskprior.datasets import manifest, packed, registry, synthetic
from maskprior.errors import DATA, UserError

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
Transform = Callable[[Image.Image], Tensor]


@dataclass(frozen=True)
class Images:
    """A split in memory. Normalise with the train split's own statistics, or ImageNet's for parts of ImageNet."""

    pixels: Tensor
    """uint8, (N, C, S, S)"""
    labels: Tensor
    """int64, (N,)"""
    mean: tuple[float, ...]
    std: tuple[float, ...]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def normalise(self, pixels: Tensor) -> Tensor:
        """(x / 255 - mean) / std per channel: uint8 (..., C, S, S) -> float32 of the same shape."""
        mean, std = (torch.tensor(values, device=pixels.device)[:, None, None] for values in (self.mean, self.std))
        return (pixels.float() / 255 - mean) / std


def load(name: str, split: str) -> Images:
    """A split of a data set whose images all have one size. UserError (3) if it is not prepared."""
    if _is_synthetic(name):
        pixels, labels = synthetic.images(split)
        return Images(
            torch.from_numpy(pixels), torch.from_numpy(labels), synthetic.MEAN, synthetic.STD, synthetic.CLASSES
        )
    folder, made = manifest.open_prepared(name)
    classes = tuple((folder / "classes.txt").read_text(encoding="utf-8").splitlines())
    if (folder / f"{split}-images.npy").is_file():
        pixels, labels = np.load(folder / f"{split}-images.npy"), np.load(folder / f"{split}-labels.npy")
        mean, std = (_floats(made.statistics["train"][key]) for key in ("mean", "std"))
    else:
        source = packed.read(folder, split)
        decoded = [np.asarray(_decode(source, row)) for row in range(len(source.labels))]
        if len({image.shape for image in decoded}) > 1:
            raise UserError(f"data set {name}: its images have different sizes; use loader() with a transform", DATA)
        pixels, labels = np.stack(decoded).transpose(0, 3, 1, 2), source.labels
        mean, std = IMAGENET_MEAN, IMAGENET_STD
    return Images(torch.from_numpy(np.ascontiguousarray(pixels)), torch.from_numpy(labels), mean, std, classes)


def load_labels(name: str, split: str) -> NDArray[np.int64]:
    """The labels of a split, (N,). UserError (3) if the data set is not prepared."""
    if _is_synthetic(name):
        return synthetic.images(split)[1]
    folder, _ = manifest.open_prepared(name)
    labels: NDArray[np.int64] = np.load(folder / f"{split}-labels.npy")
    return labels


def epoch_order(size: int, *, seed: int, epoch: int) -> NDArray[np.int64]:
    """The rows 0 … size - 1 in the random order of an epoch."""
    return _generator(seed, epoch).permutation(size)


def train_batches(
    images: Images, *, batch_size: int, seed: int, epoch: int, skip: int = 0, padding: int = 4
) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch of normalised float32 batches (B, C, S, S) with labels (B,), shuffled, the incomplete last one dropped
    and without the first `skip` ones.

    Each image is padded by `padding` zero pixels on every side, cut back to S x S at a random place and mirrored with
    probability 1/2. What happens to row i depends on (seed, epoch, i) alone.
    """
    generator = _generator(seed, epoch, 1)
    top, left = (torch.from_numpy(generator.integers(0, 2 * padding + 1, size=len(images))) for _ in range(2))
    mirrored = torch.from_numpy(generator.integers(0, 2, size=len(images)).astype(bool))
    order = torch.from_numpy(epoch_order(len(images), seed=seed, epoch=epoch))
    for start in range(skip * batch_size, len(images) - batch_size + 1, batch_size):
        rows = order[start : start + batch_size]
        pixels = crop_and_mirror(images.pixels[rows], top[rows], left[rows], mirrored[rows], padding=padding)
        yield images.normalise(pixels), images.labels[rows]


def crop_and_mirror(pixels: Tensor, top: Tensor, left: Tensor, mirrored: Tensor, *, padding: int) -> Tensor:
    """Pad (B, C, S, S) with zeros, cut the S x S square at (top, left), reverse the columns where `mirrored`."""
    side = pixels.shape[-1]
    padded = torch.nn.functional.pad(pixels, (padding,) * 4)
    steps = torch.arange(side)
    columns = torch.where(mirrored[:, None], steps.flip(0), steps) + left[:, None]
    rows = steps + top[:, None]
    batch, channel = torch.arange(len(pixels))[:, None, None, None], torch.arange(pixels.shape[1])[None, :, None, None]
    return padded[batch, channel, rows[:, None, :, None], columns[:, None, None, :]]


def eval_batches(images: Images, *, batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """All images in order, normalised, unchanged otherwise: float32 (B, C, S, S) with labels (B,)."""
    for start in range(0, len(images), batch_size):
        rows = slice(start, start + batch_size)
        yield images.normalise(images.pixels[rows]), images.labels[rows]


def loader(
    name: str,
    split: str,
    transform: Transform,
    *,
    batch_size: int,
    seed: int,
    epoch: int,
    train: bool,
    skip: int = 0,
    rows: NDArray[np.int64] | None = None,
    workers: int = 0,
) -> DataLoader[tuple[Tensor, Tensor]]:
    """Batches (B, C, S, S), (B,) of one epoch of transformed images, without the first `skip` ones.

    train: shuffled as `epoch_order`, incomplete last batch dropped; else all images, or `rows`, in order. The transform
    may draw from Python's, numpy's and torch's global generators: they are seeded per image from (seed, epoch, row)
    and put back.
    """
    images = _Epoch(name, split, transform, seed, epoch)
    if train:
        order = epoch_order(len(images), seed=seed, epoch=epoch)
    else:
        order = np.arange(len(images)) if rows is None else rows
    return DataLoader(
        images,
        batch_size=batch_size,
        sampler=order[skip * batch_size :].tolist(),
        num_workers=workers,
        drop_last=train,
        generator=torch.Generator().manual_seed(seed),  # or the loader would advance torch's global generator
    )


class _Epoch(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, name: str, split: str, transform: Transform, seed: int, epoch: int) -> None:
        self._image, self._labels = _reader(name, split)
        self._transform, self._seed, self._epoch = transform, seed, epoch

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor]:
        with seeded(self._seed, self._epoch, row):
            return self._transform(self._image(row)), torch.tensor(self._labels[row])


class _DenseImage:
    def __init__(self, pixels: NDArray[np.uint8]) -> None:
        self._pixels = pixels

    def __call__(self, row: int) -> Image.Image:
        return Image.fromarray(self._pixels[row].transpose(1, 2, 0))


class _PackedImage:
    def __init__(self, source: packed.Packed) -> None:
        self._source = source

    def __call__(self, row: int) -> Image.Image:
        return _decode(self._source, row)


def _reader(name: str, split: str) -> tuple[Callable[[int], Image.Image], NDArray[np.int64]]:
    if _is_synthetic(name):
        pixels, labels = synthetic.images(split)
        return _DenseImage(pixels), labels
    folder, _ = manifest.open_prepared(name)
    if (folder / f"{split}-images.npy").is_file():
        return _DenseImage(np.load(folder / f"{split}-images.npy", mmap_mode="r")), np.load(
            folder / f"{split}-labels.npy"
        )
    source = packed.read(folder, split)
    return _PackedImage(source), source.labels


def _is_synthetic(name: str) -> bool:
    return registry.load()[name].kind == "synthetic"


def _decode(source: packed.Packed, row: int) -> Image.Image:
    content = source.content[source.offsets[row] : source.offsets[row + 1]].tobytes()
    return Image.open(BytesIO(content)).convert("RGB")


def _generator(*key: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))


@contextmanager
def seeded(*key: int) -> Iterator[None]:
    """Seed the global generators from `key` for the body, then restore them."""
    seeds = np.random.SeedSequence(key).generate_state(3)
    python, legacy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        random.seed(int(seeds[0]))
        np.random.seed(seeds[1])
        torch.manual_seed(int(seeds[2]))
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(legacy)


def _floats(values: float | list[float]) -> tuple[float, ...]:
    return tuple(values) if isinstance(values, list) else (values,)
