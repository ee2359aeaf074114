"""Taking the wanted files out of tar and zip archives that nobody needs to trust. Standard library only."""

import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from maskprior.errors import DATA, UserError

Place = Callable[[str], str | None]


def extract(archive: Path, folder: Path, place: Place) -> None:
    """Copy regular files of `archive` to `folder / place(name in the archive)`; those with place None are left out.

    Links and devices are never created. An archive with a name that leads out of a folder (absolute, or with ..) is
    refused as a whole. Raises UserError if it is not an archive, is damaged, or is refused.
    """
    with _readable(archive):
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                _require_safe(archive, opened.namelist())
                for info in opened.infolist():
                    if not info.is_dir():
                        with opened.open(info) as stream:
                            _copy(stream, folder, place(_clean(info.filename)))
        else:
            with tarfile.open(archive) as opened_tar:
                _require_safe(archive, opened_tar.getnames())
                for member in opened_tar.getmembers():
                    stream_or_none = opened_tar.extractfile(member) if member.isfile() else None
                    if stream_or_none is not None:
                        with stream_or_none:
                            _copy(stream_or_none, folder, place(_clean(member.name)))


def is_archive(path: Path) -> bool:
    return path.is_file() and (zipfile.is_zipfile(path) or tarfile.is_tarfile(path))


def _clean(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).as_posix()


def _require_safe(archive: Path, names: list[str]) -> None:
    for name in names:
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or (path.parts and path.parts[0].endswith(":")):
            raise UserError(f"{archive.name}: refused, its {name!r} leads out of the target folder", DATA)


def _copy(stream: IO[bytes], folder: Path, name: str | None) -> None:
    if name is None:
        return
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        shutil.copyfileobj(stream, out, 1 << 20)


@contextmanager
def _readable(archive: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise UserError(f"{archive.name}: not a complete tar or zip archive ({error}); get it again", DATA) from None
