"""Generated images, so that smoke runs of the vision experiment need no download. They say nothing about the science.

Noise with one brighter quadrant, whose number is the label. numpy only.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

SIDE = 16
CLASSES = ("upper-left", "upper-right", "lower-left", "lower-right")
SIZES = {"train": 96, "test": 48}
MEAN = STD = (0.5, 0.5, 0.5)


def images(split: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pixels (N, 3, 16, 16) and labels (N,); the same on every machine."""
    size = SIZES[split]
    labels = np.arange(size, dtype=np.int64) % len(CLASSES)
    words = np.random.PCG64(list(SIZES).index(split)).random_raw(size * 3 * SIDE * SIDE)
    pixels = (words >> np.uint64(57)).astype(np.uint8).reshape(size, 3, SIDE, SIDE)
    half = SIDE // 2
    for label in range(len(CLASSES)):
        top, left = half * (label // 2), half * (label % 2)
        pixels[labels == label, :, top : top + half, left : left + half] += 96
    return pixels, labels


def content_hash() -> str:
    """sha256 of pixels and labels of all splits."""
    parts = [part for split in SIZES for part in images(split)]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
