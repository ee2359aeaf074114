"""Encoded images of any size as three files a split: all bytes one after another, where each image begins, its label.

The encoded bytes are kept, so the prepared files depend on no image decoder. numpy only; pyarrow to read parquet.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maskprior.errors import DATA, UserError

SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")


class Encoded(NamedTuple):
    content: bytes
    label: int
    origin: str


class Packed(NamedTuple):
    content: NDArray[np.uint8]
    """(bytes of all images,), mapped from disk"""
    offsets: NDArray[np.int64]
    """(N + 1,): image i is content[offsets[i] : offsets[i + 1]]"""
    labels: NDArray[np.int64]
    """(N,)"""


def folder_images(tree: Path, classes: list[str]) -> Iterator[Encoded]:
    """Images of `tree/<class>/`, classes in the given order, files sorted by name."""
    for label, name in enumerate(classes):
        if not (tree / name).is_dir():
            raise UserError(f"{tree.name}/{name}: no such folder among the images of {tree.parent.name}", DATA)
        for path in sorted((tree / name).iterdir()):
            yield Encoded(path.read_bytes(), label, f"{tree.name}/{name}/{path.name}")


def parquet_images(files: Iterable[Path]) -> Iterator[Encoded]:
    """Rows of parquet files with columns `image` (a struct with `bytes`) and `label`, in order."""
    from pyarrow import parquet

    for file in files:
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=256, columns=["image", "label"]):
            for row in batch.to_pylist():
                yield Encoded(row["image"]["bytes"], row["label"], file.name)


def parquet_class_names(file: Path) -> list[str]:
    """Class names in label order, from the schema that the `datasets` library stores in a parquet file."""
    from pyarrow import parquet

    try:
        schema = json.loads(parquet.read_schema(file).metadata[b"huggingface"])
        return list(schema["info"]["features"]["label"]["names"])
    except (KeyError, TypeError):
        raise UserError(
            f"{file.name}: its schema does not name the classes; is it a file of this data set?", DATA
        ) from None


def write(images: Iterable[Encoded], folder: Path, split: str) -> NDArray[np.int64]:
    """Write `<split>-images.bin`, `<split>-offsets.npy` and `<split>-labels.npy`; return the labels."""
    offsets, labels = [0], []
    with (folder / f"{split}-images.bin").open("wb") as out:
        for image in images:
            if not image.content.startswith(SIGNATURES):
                raise UserError(f"{image.origin}: neither a JPEG nor a PNG image", DATA)
            out.write(image.content)
            offsets.append(out.tell())
            labels.append(image.label)
    found = np.asarray(labels, dtype=np.int64)
    np.save(folder / f"{split}-offsets.npy", np.asarray(offsets, dtype=np.int64))
    np.save(folder / f"{split}-labels.npy", found)
    return found


def read(folder: Path, split: str) -> Packed:
    return Packed(
        np.memmap(folder / f"{split}-images.bin", dtype=np.uint8, mode="r"),
        np.load(folder / f"{split}-offsets.npy"),
        np.load(folder / f"{split}-labels.npy"),
    )
