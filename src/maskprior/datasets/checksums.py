"""Hashes of files and folders, and what is wrong with a file. Standard library only."""

import hashlib
import os
from pathlib import Path

from maskprior.datasets.registry import Checksum, Tree


def digest(path: Path, algorithm: str = "sha256") -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def mismatch(path: Path, *, sha256: str | None = None, md5: str | None = None, size: int | None = None) -> str | None:
    """What of `path` differs from what is expected, as words for a person; None if nothing does."""
    found = path.stat().st_size
    if size is not None and found != size:
        return f"found {found:,} bytes, expected {size:,}"
    for algorithm, expected in (("sha256", sha256), ("md5", md5)):
        if expected is not None and (actual := digest(path, algorithm)) != expected:
            return f"found {algorithm} {actual}, expected {expected}"
    return None


def member_mismatch(path: Path, member: Checksum) -> str | None:
    if not path.is_file():
        return "is missing"
    return mismatch(path, sha256=member.sha256, md5=member.md5, size=member.size)


def tree_files(folder: Path) -> list[str]:
    """Relative paths of all files below `folder`, sorted; links are followed."""
    found = ((Path(parent) / name) for parent, _, names in os.walk(folder, followlinks=True) for name in names)
    return sorted(path.relative_to(folder).as_posix() for path in found)


def tree_digest(folder: Path) -> str:
    """sha256 of the lines `<sha256 of the file>  <path>\\n`, sorted by path."""
    lines = (f"{digest(folder / name)}  {name}\n" for name in tree_files(folder))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def tree_mismatch(folder: Path, tree: Tree) -> str | None:
    if not folder.is_dir():
        return "is missing"
    if tree.files is not None and (found := len(tree_files(folder))) != tree.files:
        return f"found {found:,} files, expected {tree.files:,}"
    if tree.digest is not None and (actual := tree_digest(folder)) != tree.digest:
        return f"found digest {actual}, expected {tree.digest}"
    return None
