"""What DVC keeps of the published results: pointers in git, objects named by their md5 in the cache and the remote."""

import configparser
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from maskprior import paths
from maskprior.errors import DATA, UserError
from maskprior.runs.store import relative

MD5 = re.compile(r"^- md5: ([0-9a-f]{32}(?:\.dir)?)$", re.MULTILINE)


@dataclass(frozen=True)
class Store:
    """A folder of objects: DVC's cache, or a remote that is a folder."""

    folder: Path

    def path(self, md5: str) -> Path:
        return self.folder / "files" / "md5" / md5[:2] / md5[2:]

    def intact(self, md5: str) -> bool:
        """Whether the object is there and has the content that its name says."""
        path = self.path(md5)
        return path.is_file() and hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest() == md5[:32]

    def listing(self, md5: str) -> dict[str, str]:
        """File -> md5, of an intact object that lists the files of a folder."""
        return {entry["relpath"]: entry["md5"] for entry in json.loads(self.path(md5).read_bytes())}

    def objects(self) -> Iterator[Path]:
        yield from (path for path in sorted(self.folder.glob("files/md5/*/*")) if path.is_file())


def pointer(folder: Path) -> Path:
    """The file in git that says what DVC keeps of `folder`."""
    return folder.with_name(f"{folder.name}.dvc")


def pointers() -> list[Path]:
    """Of everything that is published: the records of each scale and experiment, and the PDF."""
    return sorted(paths.results("published").rglob("*.dvc"))


def object_of(pointer: Path) -> str:
    """The md5 of what a pointer points at. UserError (exit code 3) for a damaged pointer."""
    match = MD5.search(pointer.read_text(encoding="utf-8", errors="replace"))
    if not match:
        remedy = f"restore it with `git checkout -- {relative(pointer)}`"
        raise UserError(f"{relative(pointer)}: names no object of DVC's; {remedy}", DATA)
    return match[1]


def cache() -> Store:
    local, shared = (_config(name) for name in ("config.local", "config"))
    given = local.get("cache", "dir", fallback="") or shared.get("cache", "dir", fallback="") or "cache"
    return Store((paths.root() / ".dvc" / given).resolve())


def remote_in_project() -> Store | None:
    """The default remote, where it is a folder of the project and thus part of every commit."""
    config = _config("config")
    name = config.get("core", "remote", fallback="")
    url = config.get(f"'remote \"{name}\"'", "url", fallback="")
    folder = (paths.root() / ".dvc" / url).resolve()
    return Store(folder) if url and folder.is_relative_to(paths.root().resolve()) else None


def left_over(store: Store) -> list[Path]:
    """The objects that no pointer of the tree refers to. UserError (exit code 3) if a list of files is damaged."""
    needed = set()
    for file in pointers():
        md5 = object_of(file)
        needed.add(store.path(md5))
        if md5.endswith(".dir"):
            if not store.intact(md5):
                raise UserError(f"{relative(store.path(md5))}: missing or damaged; {git_remedy(store)}", DATA)
            needed |= {store.path(below) for below in store.listing(md5).values()}
    return [path for path in store.objects() if path not in needed]


def prune() -> int:
    """Remove what is left over in the remote that is part of the project; how many objects these were."""
    store = remote_in_project()
    gone = left_over(store) if store else []
    for path in gone:
        path.unlink()
    return len(gone)


def git_remedy(store: Store) -> str:
    return f"restore it with `git checkout -- {relative(store.folder)}`"


def call(*arguments: str) -> str:
    """The output of one DVC command. UserError with DVC's own last line if it fails."""
    # DVC refuses to start while another one runs; ours wait for one another instead.
    lock = paths.root() / ".dvc" / "tmp" / "maskprior.lock"
    lock.parent.mkdir(exist_ok=True)
    with FileLock(lock):
        done = subprocess.run(
            [sys.executable, "-m", "dvc", *arguments], cwd=paths.root(), capture_output=True, text=True, check=False
        )
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise UserError(f"dvc {arguments[0]} failed: {last}", DATA)
    return done.stdout


def is_repository() -> bool:
    return (paths.root() / ".dvc").is_dir()


def _config(name: str) -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(paths.root() / ".dvc" / name)
    return config
