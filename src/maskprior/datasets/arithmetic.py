"""The arithmetic tables: all ordered pairs of three-digit numbers as digit tokens (paper section 5.2). numpy only.

Shapes: P = 10^6 pairs, K digits of a result.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskprior.tasks.arithmetic import DIGITS, ArithmeticTask

PAIRS = 1_000_000


def digits(values: NDArray[np.int64], count: int) -> NDArray[np.uint8]:
    """The `count` decimal digits of each value, most significant first: (P,) -> (P, count)."""
    powers = 10 ** np.arange(count - 1, -1, -1)
    return (values[:, None] // powers % 10).astype(np.uint8)


def table(task: ArithmeticTask) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Inputs (P, 6) = a2 a1 a0 b2 b1 b0 and the digits of each result (P, K); the pair (a, b) is in row 1000 a + b."""
    index = np.arange(PAIRS)
    a, b = index // 1000, index % 1000
    return np.concatenate([digits(a, DIGITS), digits(b, DIGITS)], axis=1), digits(task.result(a, b), task.digits)


def content_hash(task: ArithmeticTask) -> str:
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
