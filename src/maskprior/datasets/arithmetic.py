"""The arithmetic tables: all ordered pairs of three-digit numbers as digit tokens (paper section 5.2). numpy only.

Shape letters: P = 10^6 pairs, D = digits of a result (4 for addition, 6 for multiplication).
"""

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from maskprior.config.arithmetic import OUTPUT_DIGITS

Task = Literal["addition", "multiplication"]
PAIRS = 1_000_000


def digits(values: NDArray[np.int64], count: int) -> NDArray[np.uint8]:
    """The `count` decimal digits of each value, most significant first: (P,) -> (P, count)."""
    powers = 10 ** np.arange(count - 1, -1, -1)
    return (values[:, None] // powers % 10).astype(np.uint8)


def table(task: Task) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Inputs (P, 6) = a2 a1 a0 b2 b1 b0 and outputs (P, D) = the digits of a + b or a b; (a, b) in row 1000 a + b."""
    index = np.arange(PAIRS)
    a, b = index // 1000, index % 1000
    result = a + b if task == "addition" else a * b
    return np.concatenate([digits(a, 3), digits(b, 3)], axis=1), digits(result, OUTPUT_DIGITS[task])


def content_hash(task: Task) -> str:
    """sha256 of the inputs' bytes followed by the outputs' bytes: what the registry holds as `generated`."""
    inputs, outputs = table(task)
    return hashlib.sha256(inputs.tobytes() + outputs.tobytes()).hexdigest()


@dataclass(frozen=True)
class Split:
    """Row numbers of the table. `train` is in random order, `test` is sorted; together they are all P rows once."""

    train: NDArray[np.int64]
    test: NDArray[np.int64]

    @property
    def digest(self) -> str:
        """sha256 of the train row numbers as little-endian int64, for the run's record."""
        return hashlib.sha256(self.train.astype("<i8").tobytes()).hexdigest()


def split(train_fraction: float, *, seed: int) -> Split:
    """round(train_fraction P) rows drawn without replacement for training, all others for testing.

    Depends on the fraction and the seed alone, so every method of a seed sees the same rows; with one seed a smaller
    fraction is the beginning of a larger one.
    """
    size = round(train_fraction * PAIRS)
    if not 0 < size < PAIRS:
        raise ValueError(f"train_fraction {train_fraction}: must leave a row for training and one for testing")
    order = np.random.Generator(np.random.PCG64(seed)).permutation(PAIRS)
    return Split(train=order[:size], test=np.sort(order[size:]))
