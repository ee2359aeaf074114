"""Seeds and switches: the same run gives the same bits on the same device class."""

import numpy as np
import torch

# The streams that a run's seed is split into, all of them here. The images' and the texts' own may share their numbers:
# no run draws from both.
MODEL, METHOD, ORDER = range(3)
MIX, DEPTH = 3, 4  # images: mixing two of them, stochastic depth
DROPOUT, SAMPLE = 3, 4  # texts: dropout, the sample at the end
TARGETS = 5


def make_deterministic() -> None:
    """One thread, deterministic kernels, no reduced-precision matrix products."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    # Deterministic mode also fills memory before use, which costs 7 % here and changes no result.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    torch.backends.cudnn.conv.fp32_precision = "ieee"  # type: ignore[attr-defined]


def stream_seed(seed: int, *stream: int) -> int:
    """An independent 63-bit seed for each (seed, stream): weights, a method's noise, the order of an epoch."""
    return int(np.random.SeedSequence([seed, *stream]).generate_state(1, np.uint64)[0] >> 1)


def generator(seed: int, *stream: int) -> torch.Generator:
    return torch.Generator().manual_seed(stream_seed(seed, *stream))
