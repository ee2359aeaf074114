"""Getting the publishers' files of a data set into `data/raw/<name>/`: by download, or from what is already here.

`data/raw/<name>/` is complete or absent: it is filled under a hidden name, checked member by member, and renamed.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from maskprior import paths
from maskprior.datasets import archive, checksums
from maskprior.datasets.download import DownloadError, Patience, Progress, download, space_errors
from maskprior.datasets.registry import Dataset, Download, Source, class_names, load
from maskprior.errors import DATA, UserError

ORIGIN = "ORIGIN.json"
Watch = Callable[[str], Progress]


def unwatched(file: str) -> Progress:
    """No progress is shown."""
    return lambda done, total: None


def raw_folder(name: str) -> Path:
    return paths.data() / "raw" / name


def _staging(name: str) -> Path:
    return paths.data() / "raw" / f".{name}.partial"


@contextmanager
def _locked(name: str) -> Iterator[None]:
    folder = paths.data() / "raw" / ".locks"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f"{name}.lock"):
        yield


def problems(dataset: Dataset, folder: Path) -> list[str]:
    """What of the registered members and trees is missing or differs in `folder`; empty if all is as registered."""
    members = ((path, checksums.member_mismatch(folder / path, member)) for path, member in dataset.members.items())
    trees = ((path, checksums.tree_mismatch(folder / path, tree)) for path, tree in dataset.trees.items())
    return [f"{path} {problem}" for path, problem in (*members, *trees) if problem]


def fetch(name: str, *, patience: Patience = Patience(), watch: Watch = unwatched) -> Path:  # noqa: B008 (frozen)
    """`fetch_own` for the data set and all it is made from (a subset's whole set, a text's tokenizer)."""
    for needed in load()[name].needs:
        fetch(needed, patience=patience, watch=watch)
    return fetch_own(name, patience=patience, watch=watch)


def fetch_own(name: str, *, patience: Patience = Patience(), watch: Watch = unwatched) -> Path:  # noqa: B008 (frozen)
    """Download what `data/raw/<name>/` lacks and return that folder. A second process waits and then finds it there.

    Nothing happens for generated sets and subsets. Raises UserError (exit code 3) naming the data set, every address
    with its reason, and the import command.
    """
    dataset, folder = load()[name], raw_folder(name)
    if not dataset.sources:
        return folder
    with _locked(name), space_errors(folder):
        if folder.is_dir() and not problems(dataset, folder):
            return folder
        failures: list[str] = []
        for source in dataset.sources:
            try:
                origin = _download_source(name, dataset, source, patience, watch)
            except DownloadError as error:
                failures.append(str(error))
            else:
                _publish(name, origin)
                return folder
    raise UserError(f"{name}: {'; '.join(failures)}. {_import_hint(name, dataset)}", DATA)


def _import_hint(name: str, dataset: Dataset) -> str:
    return f"Get the files elsewhere (see {dataset.homepage}) and run: maskprior data import {name} PATH"


def _download_source(name: str, dataset: Dataset, source: Source, patience: Patience, watch: Watch) -> dict[str, str]:
    """Fill the staging folder with verified members and return the address of each download."""
    if source.format == "manual":
        files = ", ".join(f"{file.file}{f' (md5 {file.md5})' if file.md5 else ''}" for file in source.downloads)
        raise DownloadError(f"{files} cannot be downloaded without asking")
    staging = _staging(name)
    origin = {}
    for file in source.downloads:
        origin[file.file] = download(
            file.urls,
            staging / "downloads" / file.file,
            check=_download_check(dataset, source, file),
            size=_download_size(dataset, source, file),
            patience=patience,
            progress=watch(file.file),
        )
    members = _empty(staging / "members")
    _unpack(dataset, source, staging / "downloads", members)
    if wrong := problems(dataset, members):
        shutil.rmtree(staging)
        raise DownloadError(f"{', '.join(origin.values())}: {'; '.join(wrong)}")
    return origin


def _download_size(dataset: Dataset, source: Source, file: Download) -> int | None:
    if source.format == "plain" and file.cut_after is None:
        return dataset.members[file.file].size
    return file.size


def _download_check(dataset: Dataset, source: Source, file: Download) -> Callable[[Path], str | None]:
    if source.format != "plain":
        return lambda path: checksums.mismatch(path, sha256=file.sha256, md5=file.md5, size=file.size)
    member = dataset.members[file.file]

    def check(path: Path) -> str | None:
        if file.cut_after is None:
            return checksums.member_mismatch(path, member)
        cut = path.with_name(f"{path.name}.cut")
        try:
            cut.write_bytes(_cut(path.read_bytes(), file.cut_after))
            return checksums.member_mismatch(cut, member)
        finally:
            cut.unlink(missing_ok=True)

    return check


def _cut(content: bytes, after: str) -> bytes:
    end = content.rfind(after.encode())
    return content if end < 0 else content[: end + len(after.encode())]


def _unpack(dataset: Dataset, source: Source, downloads: Path, members: Path) -> None:
    """Turn complete downloads into members."""
    for file in source.downloads:
        path = downloads / file.file
        if source.format in ("tar", "zip"):
            archive.extract(path, members, lambda inside: _place(dataset, inside))
        elif source.format == "plain":
            target = members / file.file
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.cut_after is None:
                os.link(path, target)
            else:
                target.write_bytes(_cut(path.read_bytes(), file.cut_after))
    if source.format == "wikitext-parquet":
        for file, target_name in zip(source.downloads, dataset.members, strict=True):
            target = members / target_name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_wikitext_lines(downloads / file.file))


def _wikitext_lines(parquet: Path) -> bytes:
    """The published text of a split: a row is a line with its line end, and the row of a blank line is empty."""
    from pyarrow import parquet as reader

    rows = reader.read_table(parquet, columns=["text"])["text"].to_pylist()
    return "".join(row or " \n" for row in rows).encode()


def _place(dataset: Dataset, inside: str) -> str | None:
    """Where a file of an archive belongs: a member by its path or else its name, a tree's file by the tree's name."""
    for member in dataset.members:
        if inside == member or inside.endswith(f"/{member}"):
            return member
    by_name = [member for member in dataset.members if member.rsplit("/")[-1] == inside.rsplit("/")[-1]]
    if len(by_name) == 1:
        return by_name[0]
    parts = inside.split("/")
    for tree in dataset.trees:
        if tree in parts[:-1]:
            return "/".join(parts[parts.index(tree) :])
    return None


def import_(name: str, path: Path, *, link: bool = False) -> Path:
    """Fill `data/raw/<name>/` from an archive, a folder that holds archives, or an extracted folder at `path`.

    Members are found by path or by file name and must have the registered checksums; the archive's own hash does not
    matter. `link` makes symbolic links to the files of an extracted folder instead of copies.
    """
    dataset = load()[name]
    if not dataset.members and not dataset.trees:
        what = f"import {dataset.subset.of} instead, it is made from that" if dataset.subset else "it is generated"
        raise UserError(f"{name}: nothing to import, {what}")
    if not path.exists():
        raise UserError(f"{name}: {path} does not exist")
    with _locked(name), space_errors(raw_folder(name)):
        members = _empty(_staging(name) / "members")
        if archive.is_archive(path):
            archive.extract(path, members, lambda inside: _place(dataset, inside))
        else:
            _collect(dataset, path if path.is_dir() else path.parent, members, link)
        if wrong := problems(dataset, members):
            shutil.rmtree(members)
            raise UserError(f"{name}: {path} is not what the registry says: {'; '.join(wrong)}", DATA)
        _publish(name, dict.fromkeys([*dataset.members, *dataset.trees], "import"))
    return raw_folder(name)


def _collect(dataset: Dataset, folder: Path, members: Path, link: bool) -> None:
    """Take members and trees out of an extracted folder, or unpack the downloads that lie in it."""
    for member in dataset.members:
        tail = member.split("/")
        candidates = [folder.joinpath(*tail[start:]) for start in range(len(tail))]
        if found := next((candidate for candidate in candidates if candidate.is_file()), None):
            _take(found, members / member, link)
    for tree in dataset.trees:
        found = folder if len(dataset.trees) == 1 and not (folder / tree).is_dir() else folder / tree
        for part in class_names(dataset) or ["."]:
            if (found / part).is_dir():
                inner = found / part / "images"  # as Tiny-ImageNet has it
                _take(inner if inner.is_dir() else found / part, members / tree / part, link)
        if (annotations := found / "val_annotations.txt").is_file():
            _sort_by_annotation(annotations, class_names(dataset), members / tree, link)
    for source in dataset.sources:
        complete = all((folder / file.file).is_file() for file in source.downloads)
        if complete and source.format != "manual" and not dataset.members.keys() <= set(checksums.tree_files(members)):
            _unpack(dataset, source, folder, members)


def _sort_by_annotation(annotations: Path, classes: list[str], target: Path, link: bool) -> None:
    """Tiny-ImageNet keeps its validation images in one folder and their classes in a table: file, class, a box."""
    for line in annotations.read_text(encoding="utf-8").splitlines():
        file, label = line.split("\t")[:2]
        if label in classes:
            _take(annotations.parent / "images" / file, target / label / file, link)


def _take(found: Path, target: Path, link: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if link:
        target.symlink_to(found.resolve(), target_is_directory=found.is_dir())
    elif found.is_dir():
        shutil.copytree(found, target)
    else:
        shutil.copyfile(found, target)


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _publish(name: str, origin: dict[str, str]) -> None:
    """Give the checked members their name; what lay there before was incomplete or differed."""
    staging, folder = _staging(name), raw_folder(name)
    (staging / "members" / ORIGIN).write_text(json.dumps(origin, indent=2) + "\n", encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(staging / "members", folder)
    shutil.rmtree(staging)
