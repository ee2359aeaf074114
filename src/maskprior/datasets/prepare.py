"""From the publishers' files in `data/raw/<name>/` to `data/<name>/`: what the loaders read, counted and hashed.

The same members give the same bytes on every machine. Files by kind of data:
boolean, arithmetic,  only the manifest: the content is generated where it is used, here its hash is checked
sentences, synthetic
cifar                 <split>-images.npy (N, 3, 32, 32) uint8, <split>-labels.npy (N,) int64, classes.txt
image-*               <split>-images.bin, <split>-offsets.npy (N + 1,), <split>-labels.npy (N,) int64, classes.txt
text, stories         <split>.npy (tokens,) uint16
bpe                   vocab.bpe, encoder.json
retokenized           both
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maskprior import paths, tasks
from maskprior.datasets import (
    acquire,
    arithmetic,
    boolean,
    bpe,
    checksums,
    cifar,
    manifest,
    packed,
    sentences,
    synthetic,
)
from maskprior.datasets.download import space_errors
from maskprior.datasets.manifest import Manifest
from maskprior.datasets.registry import Checksum, Dataset, class_names, dataset_version, load
from maskprior.errors import DATA, UserError
from maskprior.tasks.boolean import BooleanTask

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Counts = dict[str, dict[str, int]]
Statistics = dict[str, dict[str, float | list[float]]]


class Found(NamedTuple):
    """What was counted and computed while preparing."""

    counts: Counts
    statistics: Statistics


def prepare(name: str, *, watch: acquire.Watch = acquire.unwatched) -> Manifest:
    """Write `data/<name>/` (fetching what it is made from, if need be) and return its manifest.

    UserError (3) if a count differs from the registry's: then nothing is left at `data/<name>/`.
    """
    dataset = load()[name]
    for needed in dataset.needs:
        manifest.read(needed)
    raw = acquire.fetch_own(name, watch=watch)
    folder = manifest.prepared_folder(name)
    staging = paths.data() / f".{name}.partial"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    try:
        with space_errors(folder):
            found = PREPARATIONS[dataset.kind](name, dataset, raw, staging)
            _require_counts(name, dataset, found.counts)
            made = _describe(name, dataset, found, staging)
            manifest.write(made, staging)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(staging, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return made


def _require_counts(name: str, dataset: Dataset, counts: Counts) -> None:
    for split, expected in dataset.splits.items():
        for what, count in expected.items():
            if (found := counts.get(split, {}).get(what)) != count:
                raise UserError(f"{name}: {split}: counted {found} {what.replace('_', ' ')}, expected {count}", DATA)


def _describe(name: str, dataset: Dataset, found: Found, folder: Path) -> Manifest:
    files = {
        file: Checksum(size=(folder / file).stat().st_size, sha256=checksums.digest(folder / file))
        for file in checksums.tree_files(folder)
    }
    source = {path: member.sha256 for path, member in dataset.members.items()}
    source |= {path: tree.digest or "counted only" for path, tree in dataset.trees.items()}
    source |= {needed: dataset_version(needed) for needed in dataset.needs}
    source |= {"generated": dataset.generated} if dataset.generated else {}
    return Manifest(
        name=name,
        version=dataset_version(name),
        source=source,
        counts=found.counts,
        statistics=found.statistics,
        files=files,
        content=dataset.generated or manifest.content_digest(files),
    )


def generated_problem(name: str, dataset: Dataset) -> str | None:
    """What differs between the registered hash and what is generated; None if nothing does."""
    digests: dict[str, Callable[[], str]] = {
        "boolean": lambda: _boolean_digest(_task(name, dataset)),
        "arithmetic": lambda: arithmetic.content_hash(_task(name, dataset)),
        "sentences": sentences.content_hash,
        "synthetic": synthetic.content_hash,
    }
    digest = digests[dataset.kind]()
    return None if digest == dataset.generated else f"found sha256 {digest}, expected {dataset.generated}"


def _task(name: str, dataset: Dataset) -> Any:
    return tasks.find(dataset.kind, name.partition("-")[2])


def _boolean_digest(task: BooleanTask) -> str:
    rows = boolean.cube(15)
    return hashlib.sha256(rows.tobytes() + task.target(rows).astype("<f4").tobytes()).hexdigest()


def _require_generated(name: str, dataset: Dataset) -> None:
    if problem := generated_problem(name, dataset):
        raise UserError(f"{name}: the generated content is not what the registry says: {problem}", DATA)


def _boolean(name: str, dataset: Dataset, raw: Path, out: Path) -> Found:
    _require_generated(name, dataset)
    rows = boolean.cube(15)
    seen = int(_task(name, dataset).seen(rows).sum())
    return Found({"cube": {"rows": len(rows)}, "seen": {"rows": seen}}, {})


def _arithmetic(name: str, dataset: Dataset, raw: Path, out: Path) -> Found:
    _require_generated(name, dataset)
    return Found({"table": {"rows": arithmetic.PAIRS}}, {})


def _sentences(name: str, dataset: Dataset, raw: Path, out: Path) -> Found:
    _require_generated(name, dataset)
    return Found({split: {"tokens": len(sentences.tokens(split))} for split in sentences.SPLITS}, {})


def _synthetic(name: str, dataset: Dataset, raw: Path, out: Path) -> Found:
    _require_generated(name, dataset)
    return Found({split: _image_counts(synthetic.images(split)[1]) for split in synthetic.SIZES}, {})


def _cifar(name: str, dataset: Dataset, raw: Path, out: Path) -> Found:
    if dataset.subset:
        whole = manifest.prepared_folder(dataset.subset.of)
        shutil.copyfile(whole / "classes.txt", out / "classes.txt")
    else:
        _write_classes(cifar.read_class_names(raw), out)
    counts: Counts = {}
    statistics: Statistics = {}
    for split in dataset.splits:
        if dataset.subset:
            images = cifar.Images(
                np.load(whole / f"{split}-images.npy", mmap_mode="r"), np.load(whole / f"{split}-labels.npy")
            )
            if split == "train":
                rows = subset_rows(images.labels, dataset.subset.per_class)
                np.save(out / "train-rows.npy", rows)
                images = cifar.Images(images.pixels[rows], images.labels[rows])
        else:
            images = cifar.read_split(raw, split)
        np.save(out / f"{split}-images.npy", images.pixels)
        np.save(out / f"{split}-labels.npy", images.labels)
        counts[split] = _image_counts(images.labels)
        mean, std = cifar.channel_statistics(images.pixels)
        statistics[split] = {"mean": mean, "std": std}
    return Found(counts, statistics)


def subset_rows(labels: NDArray[np.int64], per_class: int) -> NDArray[np.int64]:
    """Of each class the `per_class` rows whose number has the smallest sha256 (of its decimal digits), ascending."""
    order = sorted(range(len(labels)), key=lambda row: hashlib.sha256(str(row).encode()).digest())
    ordered = labels[order]
    chosen = [np.asarray(order)[ordered == label][:per_class] for label in np.unique(labels)]
    return np.sort(np.concatenate(chosen)).astype(np.int64)


def _image_counts(labels: NDArray[np.int64]) -> dict[str, int]:
    """Images and classes, and images per class where that is the same number for all."""
    _, per_class = np.unique(labels, return_counts=True)
    counts = {"images": len(labels), "classes": len(per_class)}
    return counts | ({"images_per_class": int(per_class[0])} if len(set(per_class.tolist())) == 1 else {})


def _write_classes(names: list[str], out: Path) -> None:
    (out / "classes.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def _image_folder(name: str, dataset: Dataset, raw: Path, out: Path) -> Found:
    classes = class_names(dataset)
    _write_classes(classes, out)
    labels = {split: packed.write(packed.folder_images(raw / split, classes), out, split) for split in dataset.splits}
    return Found({split: _image_counts(found) for split, found in labels.items()}, {})


def _image_parquet(name: str, dataset: Dataset, raw: Path, out: Path) -> Found:
    prefixes = {"train": "train", "val": "validation"}
    files = {split: sorted((raw / "data").glob(f"{prefixes[split]}-*.parquet")) for split in dataset.splits}
    for split, found in files.items():
        if not found:
            raise UserError(f"{name}: no {prefixes[split]}-*.parquet among the imported files", DATA)
    _write_classes(packed.parquet_class_names(files["train"][0]), out)
    labels = {split: packed.write(packed.parquet_images(files[split]), out, split) for split in dataset.splits}
    return Found({split: _image_counts(found) for split, found in labels.items()}, {})


def _text(name: str, dataset: Dataset, raw: Path, out: Path) -> Found:
    counts: Counts = {}
    statistics: Statistics = {}
    for split, member in zip(dataset.splits, dataset.members, strict=True):
        text = (raw / member).read_bytes().decode()
        lines = text.count("\n")
        counts[split], statistics[split] = _write_tokens(text, _gpt2(), out, split)
        counts[split] |= {"lines": lines, "words": len(text.split()) + lines}
    return Found(counts, statistics)


def _stories(name: str, dataset: Dataset, raw: Path, out: Path) -> Found:
    counts: Counts = {}
    statistics: Statistics = {}
    for split, member in zip(dataset.splits, dataset.members, strict=True):
        stories = _read_stories(raw / member)[: dataset.stories.get(split)]
        counts[split], statistics[split] = _write_tokens("\n".join(stories), _gpt2(), out, split)
        if "stories" in dataset.splits[split]:
            counts[split]["stories"] = len(stories)
    return Found(counts, statistics)


def _read_stories(path: Path) -> list[str]:
    """The stories of a parquet file, or of a text file that ends each with <|endoftext|>; else the text as one."""
    if path.suffix == ".parquet":
        from pyarrow import parquet

        return list(parquet.read_table(path, columns=["text"])["text"].to_pylist())
    *stories, rest = path.read_bytes().decode().split("<|endoftext|>")
    return [story.strip("\n") for story in stories] or [rest]


def _retokenized(name: str, dataset: Dataset, raw: Path, out: Path) -> Found:
    assert dataset.retokenized is not None
    whole, decoder = manifest.prepared_folder(dataset.retokenized.of), _gpt2()
    texts = {split: decoder.decode(np.load(whole / f"{split}.npy").tolist()) for split in dataset.splits}
    bpe.train(texts["train"], dataset.retokenized.vocabulary, out)
    found = {split: _write_tokens(text, bpe.tokenizer(out), out, split) for split, text in texts.items()}
    return Found(
        {split: counts for split, (counts, _) in found.items()},
        {split: statistics for split, (_, statistics) in found.items()},
    )


def _gpt2() -> "Tokenizer":
    return bpe.tokenizer(manifest.prepared_folder(bpe.NAME))


def _write_tokens(
    text: str, tokenizer: "Tokenizer", out: Path, split: str
) -> tuple[dict[str, int], dict[str, float | list[float]]]:
    tokens = bpe.encode(text, tokenizer)
    np.save(out / f"{split}.npy", tokens)
    return {"tokens": len(tokens)}, {"bytes": len(text.encode()), "distinct_tokens": len(np.unique(tokens))}


def _bpe(name: str, dataset: Dataset, raw: Path, out: Path) -> Found:
    for member in dataset.members:
        shutil.copyfile(raw / member, out / member)
    return Found({"vocabulary": {"tokens": len(bpe.vocabulary(out)), "merges": len(bpe.merges(out))}}, {})


PREPARATIONS: dict[str, Callable[[str, Dataset, Path, Path], Found]] = {
    "boolean": _boolean,
    "arithmetic": _arithmetic,
    "synthetic": _synthetic,
    "cifar": _cifar,
    "image-folder": _image_folder,
    "image-parquet": _image_parquet,
    "text": _text,
    "stories": _stories,
    "bpe": _bpe,
    "retokenized": _retokenized,
    "sentences": _sentences,
}
