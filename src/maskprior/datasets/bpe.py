"""Byte-level byte-pair encodings in the two files of GPT-2's release, by the `tokenizers` library.

GPT-2's own is a data set, `gpt2-bpe`; a smaller one can be trained on a text.
"""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "gpt2-bpe"
FILES = ("encoder.json", "vocab.bpe")


def vocabulary(folder: Path) -> dict[str, int]:
    return json.loads((folder / "encoder.json").read_text(encoding="utf-8"))


def merges(folder: Path) -> list[tuple[str, str]]:
    """Pairs in order of priority; the first line of the file is its version."""
    lines = (folder / "vocab.bpe").read_text(encoding="utf-8").split("\n")[1:]
    return [(left, right) for left, _, right in (line.partition(" ") for line in lines if line)]


def tokenizer(folder: Path) -> "Tokenizer":
    """Encoder and decoder of the files in `folder`: `.encode(text).ids`, `.decode(ids)`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    found = Tokenizer(models.BPE(vocab=vocabulary(folder), merges=merges(folder)))
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    return found


def digest(folder: Path) -> str:
    """sha256 of both files of an encoding, one after the other."""
    return hashlib.sha256(b"".join((folder / file).read_bytes() for file in FILES)).hexdigest()


def encode(text: str, found: "Tokenizer") -> NDArray[np.uint16]:
    """Token ids of the text as one string, (tokens,)."""
    return np.asarray(found.encode(text).ids, dtype=np.uint16)


def train(text: str, vocabulary: int, folder: Path) -> None:
    """Write a byte-level encoding of so many tokens into `folder`: 256 bytes, then the text's most frequent pairs.

    The same text gives the same files, whatever the number of threads.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        [text], trainers.BpeTrainer(vocab_size=vocabulary, initial_alphabet=alphabet, show_progress=False)
    )
    model = json.loads(made.to_str())["model"]
    ordered = dict(sorted(model["vocab"].items(), key=lambda item: item[1]))
    (folder / "encoder.json").write_text(json.dumps(ordered, ensure_ascii=True) + "\n", encoding="utf-8")
    pairs = [f"{left} {right}" for left, right in model["merges"]]
    (folder / "vocab.bpe").write_text("\n".join(["#version: 0.2", *pairs]) + "\n", encoding="utf-8")
