"""`data/<name>/MANIFEST.json`: what a prepared data set consists of, whatever the machine or the day."""

import hashlib
import json
from pathlib import Path

from pydantic import ValidationError

from maskprior import paths
from maskprior.datasets.registry import Checksum, Model, dataset_version
from maskprior.errors import DATA, UserError

FILE = "MANIFEST.json"


class Manifest(Model):
    name: str
    version: str
    source: dict[str, str]
    """Members, trees or data sets it was made from, each with its sha256, digest or version."""
    counts: dict[str, dict[str, int]]
    statistics: dict[str, dict[str, float | list[float]]]
    files: dict[str, Checksum]
    content: str
    """sha256 of the lines `<sha256>  <file>`: one hash for all files."""


def content_digest(files: dict[str, Checksum]) -> str:
    lines = (f"{files[name].sha256}  {name}\n" for name in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def prepared_folder(name: str) -> Path:
    return paths.data() / name


def write(manifest: Manifest, folder: Path) -> None:
    text = json.dumps(manifest.model_dump(exclude_none=True), indent=2, sort_keys=True)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def read(name: str) -> Manifest:
    """The manifest of a prepared data set; UserError (3) if it is absent, damaged or of another version."""
    path = prepared_folder(name) / FILE
    remedy = f"run: dvc repro {name}"
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"data set {name}: not prepared, data/{name}/{FILE} does not exist; {remedy}", DATA) from None
    except ValidationError:
        raise UserError(f"data set {name}: data/{name}/{FILE} is damaged; {remedy}", DATA) from None
    if manifest.version != (expected := dataset_version(name)):
        raise UserError(
            f"data set {name}: data/{name} was prepared as version {manifest.version}, "
            f"the registry says {expected}; {remedy}",
            DATA,
        )
    return manifest


def open_prepared(name: str) -> tuple[Path, Manifest]:
    """Folder and manifest of a prepared data set whose files are all there with their sizes; else UserError (3)."""
    folder, made = prepared_folder(name), read(name)
    for file, checksum in made.files.items():
        if not (folder / file).is_file() or (folder / file).stat().st_size != checksum.size:
            raise UserError(f"data set {name}: data/{name}/{file} is missing or cut short; run: dvc repro {name}", DATA)
    return folder, made
