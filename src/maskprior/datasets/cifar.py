"""The official pickled CIFAR batches, read without executing what a pickle may ask for. numpy only.

Shape letters: N images, C = 3 channels, H = W = 32.
"""

import math
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maskprior.errors import DATA, UserError

BATCHES: dict[str, dict[str, tuple[str, ...]]] = {
    "cifar-10-batches-py": {"train": tuple(f"data_batch_{k}" for k in range(1, 6)), "test": ("test_batch",)},
    "cifar-100-python": {"train": ("train",), "test": ("test",)},
}
LABELS = {"cifar-10-batches-py": b"labels", "cifar-100-python": b"fine_labels"}
NAMES = {
    "cifar-10-batches-py": ("batches.meta", b"label_names"),
    "cifar-100-python": ("meta", b"fine_label_names"),
}


class Images(NamedTuple):
    pixels: NDArray[np.uint8]
    """(N, C, H, W)"""
    labels: NDArray[np.int64]
    """(N,)"""


class _PickledArray:
    """Stands in for numpy's array while unpickling: keeps shape and bytes, calls nothing."""

    array: NDArray[np.uint8]

    def __setstate__(self, state: tuple[int, tuple[int, ...], "_PickledType", bool, bytes]) -> None:
        _, shape, dtype, fortran, content = state
        if dtype.name not in (b"u1", "u1") or fortran:
            raise pickle.UnpicklingError("an array of another type than uint8 in C order")
        self.array = np.frombuffer(content, dtype=np.uint8).reshape(shape)


class _PickledType:
    def __init__(self, name: str | bytes, *_: object) -> None:
        self.name = name

    def __setstate__(self, state: object) -> None:
        pass


def _pickled_array(*_: object) -> _PickledArray:
    return _PickledArray()


class _Unpickler(pickle.Unpickler):
    """Knows the three names in a CIFAR batch, gives each a harmless stand-in, and refuses every other name."""

    KNOWN: Mapping[tuple[str, str], Any] = {
        ("numpy.core.multiarray", "_reconstruct"): _pickled_array,
        ("numpy", "ndarray"): _PickledArray,
        ("numpy", "dtype"): _PickledType,
    }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self.KNOWN[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no CIFAR batch needs") from None


def read_pickle(path: Path) -> dict[bytes, Any]:
    """The dictionary in a batch file; keys and strings are bytes. UserError (3) if it is not a harmless CIFAR batch."""
    try:
        with path.open("rb") as stream:
            content = _Unpickler(stream, encoding="bytes").load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise UserError(f"{path.name}: refused as a CIFAR batch ({error}); get it again", DATA) from None
    if not isinstance(content, dict):
        raise UserError(f"{path.name}: refused as a CIFAR batch (it holds no dictionary); get it again", DATA)
    return content


def release(raw: Path) -> str:
    """Which official folder lies in `raw`."""
    for folder in BATCHES:
        if (raw / folder).is_dir():
            return folder
    raise UserError(f"{raw}: holds none of {', '.join(BATCHES)}", DATA)


def read_split(raw: Path, split: str) -> Images:
    """All images of a split in official order."""
    folder = release(raw)
    batches = [read_pickle(raw / folder / name) for name in BATCHES[folder][split]]
    pixels = np.concatenate([batch[b"data"].array for batch in batches]).reshape(-1, 3, 32, 32)
    return Images(pixels, np.concatenate([np.asarray(batch[LABELS[folder]], dtype=np.int64) for batch in batches]))


def read_class_names(raw: Path) -> list[str]:
    folder = release(raw)
    file, key = NAMES[folder]
    return [name.decode() for name in read_pickle(raw / folder / file)[key]]


def channel_statistics(pixels: NDArray[np.uint8]) -> tuple[list[float], list[float]]:
    """Mean and (population) standard deviation of each channel of x / 255, from exact integer sums."""
    means, deviations = [], []
    for channel in range(pixels.shape[1]):
        counts = np.bincount(pixels[:, channel].ravel(), minlength=256).tolist()
        total = sum(counts)
        first = sum(value * count for value, count in enumerate(counts))
        second = sum(value * value * count for value, count in enumerate(counts))
        means.append(round(first / total / 255, 8))
        deviations.append(round(math.sqrt(total * second - first * first) / total / 255, 8))
    return means, deviations
