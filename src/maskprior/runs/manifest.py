"""The manifests of the published records: git keeps the sha256 of every published file.

`results/published/<scale>/<experiment>.sha256` has one line a file, as `sha256sum` writes them. DVC keeps the files
themselves, and DVC trusts its cache and its remote; the manifest is what says whether a file is the published one.
"""

import functools
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from maskprior import paths
from maskprior.errors import DATA, UserError
from maskprior.files import write_atomically
from maskprior.runs.store import relative

SUFFIX = ".sha256"
LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")


@dataclass(frozen=True)
class Problem:
    """A published file that is not as the manifest says. what: `missing`, `changed` or `foreign`."""

    path: Path
    what: str

    def __str__(self) -> str:
        text = {
            "missing": "missing; restore it with `maskprior restore`",
            "changed": "changed, its sha256 is not the published one; restore it with `maskprior restore`",
            "foreign": "not a published file; `maskprior restore` sets it aside, `maskprior publish` publishes records",
        }
        return f"{relative(self.path)}: {text[self.what]}"


def published_folder(scale: str, experiment: str) -> Path:
    return paths.results("published") / scale / experiment


def manifest_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{SUFFIX}")


def published_folders() -> list[Path]:
    """The folder of every scale and experiment that has a manifest, a DVC file or records here."""
    places = sorted(paths.results("published").glob("*/*"))
    return sorted({place.with_suffix("") for place in places if place.is_dir() or place.suffix in (SUFFIX, ".dvc")})


def read_manifest(folder: Path) -> dict[str, str]:
    """File below `folder` -> its sha256. UserError (exit code 3) for a manifest that is missing or damaged."""
    file = manifest_file(folder)
    remedy = f"restore it with `git checkout -- {relative(file)}`"
    try:
        return _parse(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{relative(file)}: missing, so nothing says what was published; {remedy}", DATA) from None
    except ValueError as error:
        raise UserError(f"{relative(file)}: not a list of sha256 sums ({error}); {remedy}", DATA) from None


@functools.lru_cache(maxsize=64)
def _parse(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = LINE.fullmatch(line)
        if not match or match[2] in found:
            raise ValueError(f"line {number}")
        found[match[2]] = match[1]
    return found


def state_folder(folder: Path) -> None:
    """State all files that are in `folder` now: for a folder whose files are known to be the published ones."""
    _write(folder, {path.relative_to(folder).as_posix(): _sha256(path) for path in _files(folder)})


def state_record(path: Path) -> None:
    """Put the two files of a published record into its manifest as they are now, or take them out if they are gone.

    All other lines stay as they are, so that nothing that was changed meanwhile passes as published.
    """
    folder = path.parents[2]
    stated = dict(read_manifest(folder)) if manifest_file(folder).exists() else {}
    for file in (path, path.with_suffix(".safetensors")):
        name = file.relative_to(folder).as_posix()
        stated.pop(name, None)
        if file.exists():
            stated[name] = _sha256(file)
    _write(folder, stated)


def problems(folder: Path) -> list[Problem]:
    """What is missing, changed or foreign in the folder of one scale and experiment."""
    stated = read_manifest(folder)
    here = {path.relative_to(folder).as_posix(): path for path in _files(folder)}
    found = [Problem(path, "foreign") for name, path in here.items() if name not in stated]
    for name, digest in stated.items():
        if name not in here:
            found.append(Problem(folder / name, "missing"))
        elif _sha256(here[name]) != digest:
            found.append(Problem(folder / name, "changed"))
    return sorted(found, key=lambda problem: problem.path)


def check_stated(path: Path) -> None:
    """UserError (exit code 3) unless the published JSON at `path` is the one its manifest states.

    The JSON holds the sha256 of its arrays, which whoever reads them compares.
    """
    folder = path.parents[2]
    stated = read_manifest(folder).get(path.relative_to(folder).as_posix())
    if stated is None or stated != _sha256(path):
        raise UserError(str(Problem(path, "foreign" if stated is None else "changed")), DATA)


def published_records(folder: Path) -> list[Path]:
    """The records a manifest states."""
    return [folder / name for name in read_manifest(folder) if name.endswith(".json")]


def is_stated(path: Path) -> bool:
    """Whether the published record at `path` is there and the one its manifest states."""
    folder = path.parents[2]
    if not path.exists() or not manifest_file(folder).exists():
        return False
    return read_manifest(folder).get(path.relative_to(folder).as_posix()) == _sha256(path)


def _write(folder: Path, stated: dict[str, str]) -> None:
    lines = [f"{digest}  {name}\n" for name, digest in sorted(stated.items())]
    write_atomically(manifest_file(folder), "".join(lines).encode())


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
