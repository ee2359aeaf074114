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

    DVC trusts its cache and its remote, and refuses to overwrite a changed file. Here every object is compared with
    its name before it is used, and a file that nobody published is moved, never removed. Nothing outside
    results/published is written, but for results/set-aside, where such files go.
    UserError (exit code 3) names what neither the cache nor the remote has.
    """
    if not dvc.is_repository():
        raise UserError("this folder has no .dvc: it is not the whole project; clone it again", DATA)
    files, cache, remote = dvc.pointers(), dvc.cache(), dvc.remote_in_project()
    stores = [cache, remote] if remote else [cache]
    _drop_damaged(files, stores)
    failure = ""
    # A remote elsewhere is for DVC to read. What is damaged in the cache after that has come from there.
    if not remote and not all(_is_stored(file, stores) for file in files):
        try:
            dvc.call("fetch", "--quiet", *[str(file) for file in files])
        except UserError as error:
            failure = f" ({error})"
        _drop_damaged(files, stores)
    for file in files:
        _fill_cache(file, stores)
    lost = [line for file in files for line in _restore(file, stores)]
    for line in lost:
        print(line)
    if lost:
        raise UserError(f"{len(lost)} published files could not be restored; each is named above{failure}", DATA)


def _find(md5: str, stores: list[dvc.Store]) -> dvc.Store | None:
    """The first store that has the object intact."""
    return next((store for store in stores if store.intact(md5)), None)


def _listing(pointer: Path, stores: list[dvc.Store]) -> dict[str, str] | None:
    """File -> md5, of what a pointer points at; None if its list of files is nowhere intact."""
    md5 = dvc.object_of(pointer)
    store = _find(md5, stores)
    return store.listing(md5) if store else None


def _is_stored(pointer: Path, stores: list[dvc.Store]) -> bool:
    listing = _listing(pointer, stores)
    return listing is not None and all(_find(md5, stores) for md5 in listing.values())


def _drop_damaged(pointers: list[Path], stores: list[dvc.Store]) -> None:
    """Remove damaged objects from the cache: DVC would use them for ever."""
    cache = stores[0]
    for pointer in pointers:
        for md5 in [dvc.object_of(pointer), *(_listing(pointer, stores) or {}).values()]:
            if cache.path(md5).exists() and not cache.intact(md5):
                cache.path(md5).chmod(0o644)
                cache.path(md5).unlink()


def _fill_cache(pointer: Path, stores: list[dvc.Store]) -> None:
    """Copy what the remote has intact into the cache, so that DVC's own commands find it there."""
    cache = stores[0]
    for md5 in [dvc.object_of(pointer), *(_listing(pointer, stores) or {}).values()]:
        if not cache.path(md5).exists() and (store := _find(md5, stores)):
            write_atomically(cache.path(md5), store.path(md5).read_bytes())
            cache.path(md5).chmod(0o444)


def _restore(pointer: Path, stores: list[dvc.Store]) -> list[str]:
    """Make the folder of one pointer what it was. One line for each file of which no intact object was found."""
    folder, listing = pointer.with_suffix(""), _listing(pointer, stores)
    if listing is None:
        return [f"{relative(folder)}: {_no_object(dvc.object_of(pointer))}"]
    for path in _foreign(folder, listing):
        aside = _aside(path)
        aside.parent.mkdir(parents=True, exist_ok=True)
        path.rename(aside)
        print(f"{relative(path)}: not a published file; moved to {relative(aside)}")
    lost, brought = [], 0
    for name, md5 in sorted(listing.items()):
        path = folder / name
        if _md5(path) == md5:
            continue
        if store := _find(md5, stores):
            write_atomically(path, store.path(md5).read_bytes())
            brought += 1
        else:
            lost.append(f"{relative(path)}: {_no_object(md5)}")
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
    remote = dvc.remote_in_project()
    if remote is None:
        return f"neither the cache nor the remote has its object {md5} intact"
    state = "damaged" if remote.path(md5).exists() else "missing"
    return f"its object {relative(remote.path(md5))} is {state}; {dvc.git_remedy(remote)}, then `maskprior restore`"


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
