"""GPT-2's byte-level byte-pair encoding from its two released files, by the `tokenizers` library."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "gpt2-bpe"


def vocabulary(folder: Path) -> dict[str, int]:
    return json.loads((folder / "encoder.json").read_text(encoding="utf-8"))


def merges(folder: Path) -> list[tuple[str, str]]:
    """Pairs in order of priority; the first line of the file is its version."""
    lines = (folder / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]
    return [(left, right) for left, _, right in (line.partition(" ") for line in lines if line)]


def tokenizer(folder: Path) -> "Tokenizer":
    """Encoder and decoder of the files in `folder`: `.encode(text).ids`, `.decode(ids)`; 50,257 ids."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    found = Tokenizer(models.BPE(vocab=vocabulary(folder), merges=merges(folder)))
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    return found


def encode(text: str, found: "Tokenizer") -> NDArray[np.uint16]:
    """Token ids of the text as one string, (tokens,)."""
    return np.asarray(found.encode(text).ids, dtype=np.uint16)
