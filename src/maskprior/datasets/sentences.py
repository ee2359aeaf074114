"""A generated text for tests of the language models: short sentences, one a line, as bytes. numpy only."""

import hashlib
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Split = Literal["train", "valid", "test"]
SPLITS: dict[Split, int] = {"train": 1500, "valid": 150, "test": 150}
VOCABULARY = 256
ADJECTIVES = ("small", "red", "old", "quiet", "kind", "tall")
NOUNS = ("cat", "boat", "child", "tree", "bird", "stone", "cloud", "door")
VERBS = ("sees", "finds", "follows", "knows", "leaves")


def text(split: Split) -> str:
    """The sentences of a split, "the small cat sees the old door." and so on, drawn uniformly; ASCII."""
    random = np.random.Generator(np.random.PCG64(list(SPLITS).index(split)))
    words = (("the",), ADJECTIVES, NOUNS, VERBS, ("the",), ADJECTIVES, NOUNS)
    lines = (" ".join(part[random.integers(len(part))] for part in words) for _ in range(SPLITS[split]))
    return "".join(f"{line}.\n" for line in lines)


def tokens(split: Split) -> NDArray[np.uint16]:
    """The bytes of a split as token ids, (n,)."""
    return np.frombuffer(text(split).encode(), dtype=np.uint8).astype(np.uint16)


def content_hash() -> str:
    """sha256 of the splits' text in order: what the registry holds as `generated`."""
    return hashlib.sha256("".join(text(split) for split in SPLITS).encode()).hexdigest()
