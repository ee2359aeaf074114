"""The published results back to what was published, whatever happened to them here."""

import hashlib
from pathlib import Path

from maskprior import paths
from maskprior.errors import DATA, UserError
from maskprior.evidence import dvc
from maskprior.files import write_atomically
from maskprior.runs.store import relative


def restore() -> None:
    """Bring back published files that are missing or changed, and print what was done.

    DVC only fetches objects: it trusts its cache and its remote, and refuses to overwrite a changed file. Here every
    object is compared with its name before it is used, and a file that nobody published is moved, never removed.
    Nothing outside results/published is written, but for results/set-aside, where such files go.
    UserError (exit code 3) names what neither the cache nor the remote has.
    """
    if not dvc.is_repository():
        raise UserError("this folder has no .dvc: it is not the whole project; clone it again", DATA)
    files = dvc.pointers()
    cache = dvc.cache()
    wanted = [file for file in files if not _is_restored(file, cache)]
    _drop_damaged(wanted, cache)
    failure = ""
    if not all(_is_cached(file, cache) for file in wanted):
        try:
            dvc.call("fetch", "--quiet", *[str(file) for file in wanted])
        except UserError as error:
            failure = str(error)
        # What is damaged now has come from the remote.
        _drop_damaged(wanted, cache)
    lost = [line for file in wanted for line in _restore(file, cache)]
    for line in lost:
        print(line)
    if lost:
        why = f" ({failure})" if failure else ""
        raise UserError(f"{len(lost)} published files could not be restored; each is named above{why}", DATA)


def _is_restored(pointer: Path, cache: dvc.Store) -> bool:
    md5 = dvc.object_of(pointer)
    if not cache.intact(md5):
        return False
    folder, listing = pointer.with_suffix(""), cache.listing(md5)
    return not _foreign(folder, listing) and all(_md5(folder / name) == digest for name, digest in listing.items())


def _is_cached(pointer: Path, cache: dvc.Store) -> bool:
    md5 = dvc.object_of(pointer)
    return cache.intact(md5) and all(cache.intact(below) for below in cache.listing(md5).values())


def _drop_damaged(pointers: list[Path], cache: dvc.Store) -> None:
    """Remove damaged objects from the cache: DVC would use them for ever."""
    for pointer in pointers:
        md5 = dvc.object_of(pointer)
        below = list(cache.listing(md5).values()) if cache.intact(md5) else []
        for name in [md5, *below]:
            if cache.path(name).exists() and not cache.intact(name):
                cache.path(name).chmod(0o644)
                cache.path(name).unlink()


def _restore(pointer: Path, cache: dvc.Store) -> list[str]:
    """Make the folder of one pointer what it was. One line for each file of which no intact object was found."""
    md5, folder = dvc.object_of(pointer), pointer.with_suffix("")
    if not cache.intact(md5):
        return [f"{relative(folder)}: {_no_object(md5)}"]
    listing = cache.listing(md5)
    for path in _foreign(folder, listing):
        aside = _aside(path)
        aside.parent.mkdir(parents=True, exist_ok=True)
        path.rename(aside)
        print(f"{relative(path)}: not a published file; moved to {relative(aside)}")
    lost, brought = [], 0
    for name, digest in sorted(listing.items()):
        path = folder / name
        if _md5(path) == digest:
            continue
        if cache.intact(digest):
            write_atomically(path, cache.path(digest).read_bytes())
            brought += 1
        else:
            lost.append(f"{relative(path)}: {_no_object(digest)}")
    if brought:
        print(f"{relative(folder)}: {brought} of {len(listing)} files restored")
    return lost


def _foreign(folder: Path, listing: dict[str, str]) -> list[Path]:
    """Files that were not published, and folders in the place of published files."""
    if not folder.is_dir():
        return [folder] if folder.exists() else []
    found = [path for name in sorted(listing) if (path := folder / name).is_dir()]
    below = [path for path in sorted(folder.rglob("*")) if not path.is_dir()]
    strange = [path for path in below if path.relative_to(folder).as_posix() not in listing]
    return found + [path for path in strange if not any(path.is_relative_to(other) for other in found)]


def _no_object(md5: str) -> str:
    store = dvc.remote_in_project()
    if store is None:
        return f"the remote has no intact object {md5} for it"
    state = "damaged" if store.path(md5).exists() else "missing"
    return f"its object {relative(store.path(md5))} is {state}; {dvc.git_remedy(store)}, then `maskprior restore`"


def _aside(path: Path) -> Path:
    """A free place in results/set-aside."""
    place = paths.root() / "results" / "set-aside" / path.relative_to(paths.results("published"))
    number = 1
    while place.exists():
        number += 1
        place = place.with_name(f"{path.name}.{number}")
    return place


def _md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest() if path.is_file() else ""
