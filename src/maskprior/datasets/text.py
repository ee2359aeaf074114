"""Text as token ids, for the language experiment.

Shape letters: n tokens of a split, B sequences of a batch, T tokens of a sequence (block).
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskprior.datasets import bpe, manifest, registry, sentences

VOCABULARY = 50257

Tokens = NDArray[np.uint16]


@dataclass(frozen=True)
class Corpus:
    """A text as token ids, (n,) a split, with how many bytes of text a split is and what its tokens mean.

    A text without a test split is tested on its validation split, as the paper's TinyStories is.
    """

    splits: dict[str, Tokens]
    text_bytes: dict[str, int]
    vocabulary: int
    tokenizer_sha256: str
    decode: Callable[[list[int]], str]


def corpus(name: str) -> Corpus:
    """The registered data set `name`; UserError (3) if it is not prepared. Generated sentences need no preparation."""
    dataset = registry.load()[name]
    if dataset.kind == "sentences":
        found = {str(split): sentences.tokens(split) for split in sentences.SPLITS}
        sizes = {split: len(tokens) for split, tokens in found.items()}
        return Corpus(found, sizes, sentences.VOCABULARY, "bytes", lambda ids: bytes(ids).decode(errors="replace"))
    folder, made = manifest.open_prepared(name)
    if dataset.tokenizer is not None:
        folder, _ = manifest.open_prepared(dataset.tokenizer)
    tokenizer = bpe.tokenizer(folder)
    found = {split: load(name, split) for split in dataset.splits}
    sizes = {split: int(np.sum(made.statistics[split]["bytes"])) for split in found}
    if "test" not in found:
        found["test"], sizes["test"] = found["valid"], sizes["valid"]
    return Corpus(found, sizes, tokenizer.get_vocab_size(), bpe.digest(folder), tokenizer.decode)


def random_corpus(name: str, *, size: int = 4096) -> Corpus:
    """Uniform random tokens of the encoding of the registered data set `name`: to try out a run without its text."""
    dataset = registry.load()[name]
    vocabulary = dataset.retokenized.vocabulary if dataset.retokenized else VOCABULARY
    random = np.random.Generator(np.random.PCG64(0))
    found = {split: random.integers(vocabulary, size=size, dtype=np.uint16) for split in ("train", "valid", "test")}
    return Corpus(found, dict.fromkeys(found, size), vocabulary, "random", lambda ids: " ".join(map(str, ids)))


def load(name: str, split: str) -> NDArray[np.uint16]:
    """GPT-2 token ids of a split as one sequence, (n,), mapped from disk. UserError (3) if it is not prepared."""
    folder, _ = manifest.open_prepared(name)
    return np.load(folder / f"{split}.npy", mmap_mode="r")


def batch(
    tokens: NDArray[np.uint16], *, block: int, batch_size: int, seed: int, stream: str, step: int
) -> tuple[Tensor, Tensor]:
    """Inputs and targets (B, T), int64: B windows that begin anywhere, targets one token later.

    Beginnings are uniform on 0 … n - T - 1 and depend on (seed, stream, step) alone; `stream` names what the batch
    is for ("train", "validation"), so evaluating never changes what is trained on.
    """
    if len(tokens) <= block:
        raise ValueError(f"block {block}: the split has only {len(tokens)} tokens")
    key = np.random.SeedSequence((seed, zlib.crc32(stream.encode()), step))
    starts = np.random.Generator(np.random.PCG64(key)).integers(0, len(tokens) - block, size=batch_size)
    windows = torch.from_numpy(tokens[starts[:, None] + np.arange(block + 1)].astype(np.int64))
    return windows[:, :-1], windows[:, 1:]


def decode(ids: list[int]) -> str:
    """The text of GPT-2 token ids."""
    manifest.open_prepared(bpe.NAME)
    return bpe.tokenizer(manifest.prepared_folder(bpe.NAME)).decode(ids)
