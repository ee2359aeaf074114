"""Whole data sets: fetched from a local server or imported, with archives good and bad."""

import contextlib
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from http_helpers import IMPATIENT, entry, fails, gives, member, sha256, visible

from maskprior.datasets import acquire, checksums
from maskprior.errors import UserError

MEMBERS = {"set/train.txt": b"one\ntwo\n" * 5000, "set/test.txt": b"three\n"}


def tar(files: dict[str, bytes], *, kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=1) as out:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            info.size = len(content) if kind == tarfile.REGTYPE else 0
            out.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def archived(archive: bytes, *urls: str, **changes: object) -> dict[str, object]:
    """A registry entry whose members come out of one archive."""
    download = {"file": "set.tar.gz", "urls": list(urls), "size": len(archive), "sha256": sha256(archive)}
    members = {name: member(content) for name, content in MEMBERS.items()}
    return entry(members=members, sources=[{"format": "tar", "downloads": [download]}], **changes)


def raw(root: Path, name: str = "a") -> set[str]:
    return visible(root / "data" / "raw" / name) if (root / "data" / "raw" / name).exists() else set()


COMPLETE = {*MEMBERS, acquire.ORIGIN}


def test_fetch_verifies_members_and_says_where_they_came_from(server, project):
    archive = tar(MEMBERS | {"set/readme.html": b"not a member"})
    server.answers = {"/dead": fails(404), "/a": gives(archive)}
    root = project({"a": archived(archive, f"{server.url}/dead", f"{server.url}/a")})
    folder = acquire.fetch("a", patience=IMPATIENT)
    assert folder == root / "data" / "raw" / "a"
    assert raw(root) == COMPLETE
    assert (folder / "set" / "train.txt").read_bytes() == MEMBERS["set/train.txt"]
    assert json.loads((folder / acquire.ORIGIN).read_text()) == {"set.tar.gz": f"{server.url}/a"}
    acquire.fetch("a", patience=IMPATIENT)
    assert server.asked("/a") == 1


def test_a_damaged_member_is_fetched_again(server, project):
    archive = tar(MEMBERS)
    server.answers = {"/a": gives(archive)}
    root = project({"a": archived(archive, f"{server.url}/a")})
    acquire.fetch("a", patience=IMPATIENT)
    (root / "data" / "raw" / "a" / "set" / "test.txt").write_bytes(b"threE\n")
    acquire.fetch("a", patience=IMPATIENT)
    assert server.asked("/a") == 2
    assert (root / "data" / "raw" / "a" / "set" / "test.txt").read_bytes() == MEMBERS["set/test.txt"]


def test_failure_is_one_line_with_all_a_person_needs(server, project):
    archive, other = tar(MEMBERS), tar({"set/train.txt": b"other"})
    other = other + b"\0" * (len(archive) - len(other))
    server.answers = {"/a": gives(other), "/b": fails(503)}
    root = project({"a": archived(archive, f"{server.url}/a", f"{server.url}/b")})
    with pytest.raises(UserError) as caught:
        acquire.fetch("a", patience=IMPATIENT)
    assert str(caught.value) == (
        f"a: {server.url}/a: found sha256 {sha256(other)}, expected {sha256(archive)}; "
        f"{server.url}/b: HTTP 503 Service Unavailable (2 attempts). "
        "Get the files elsewhere (see https://example.org) and run: maskprior data import a PATH"
    )
    assert caught.value.exit_code == 3
    assert raw(root) == set()


def test_a_source_with_wrong_members_gives_way_to_the_next(server, project):
    wrong, right = tar({"set/train.txt": b"other", "set/test.txt": b"three\n"}), tar(MEMBERS)
    server.answers = {"/wrong": gives(wrong), "/right": gives(right)}
    both = archived(wrong, f"{server.url}/wrong")
    both["sources"] += archived(right, f"{server.url}/right")["sources"]
    root = project({"a": both})
    acquire.fetch("a", patience=IMPATIENT)
    assert raw(root) == COMPLETE


def test_plain_files_and_a_file_of_which_only_the_beginning_is_a_member(server, project):
    server.answers = {"/x": gives(b"first<end>second<end>half a thi"), "/y": gives(b"whole")}
    downloads = [
        {"file": "x.txt", "urls": [f"{server.url}/x"], "cut_after": "<end>"},
        {"file": "y.txt", "urls": [f"{server.url}/y"]},
    ]
    members = {"x.txt": member(b"first<end>second<end>"), "y.txt": member(b"whole")}
    root = project({"a": entry(members=members, sources=[{"format": "plain", "downloads": downloads}])})
    folder = acquire.fetch("a", patience=IMPATIENT)
    assert (folder / "x.txt").read_bytes() == b"first<end>second<end>"
    assert raw(root) == {"x.txt", "y.txt", acquire.ORIGIN}


@pytest.mark.parametrize(
    "archive",
    [
        tar(MEMBERS | {"../outside.txt": b"x"}),
        tar(MEMBERS | {"/tmp/outside.txt": b"x"}),
        tar(MEMBERS | {"set/../../outside.txt": b"x"}),
    ],
    ids=["parent", "absolute", "parent-inside"],
)
def test_an_archive_that_leads_out_of_the_folder_is_refused(server, project, archive):
    server.answers = {"/a": gives(archive)}
    root = project({"a": archived(archive, f"{server.url}/a")})
    with pytest.raises(UserError, match=r"set.tar.gz: refused, its '.*outside.txt' leads out of the target folder"):
        acquire.fetch("a", patience=IMPATIENT)
    assert raw(root) == set()
    assert not list(root.rglob("outside.txt"))


def test_a_zip_that_leads_out_of_the_folder_is_refused(project):
    root = project({"a": archived(b"x", "http://127.0.0.1:9/a")})
    with zipfile.ZipFile(root / "bad.zip", "w") as out:
        for name, content in MEMBERS.items():
            out.writestr(name, content)
        out.writestr("..\\outside.txt", "x")
    with pytest.raises(UserError, match=r"bad.zip: refused, its '.*outside.txt' leads out of the target folder"):
        acquire.import_("a", root / "bad.zip")
    assert raw(root) == set()


def test_links_in_an_archive_are_never_made(project):
    root = project({"a": archived(b"x", "http://127.0.0.1:9/a")})
    (root / "links.tar").write_bytes(tar(dict.fromkeys(MEMBERS, b""), kind=tarfile.SYMTYPE, target="/etc/passwd"))
    with pytest.raises(UserError, match=r"set/train.txt is missing"):
        acquire.import_("a", root / "links.tar")
    assert raw(root) == set()


def put(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("given", ["above", "inside", "other-archive", "zip", "folder-with-archive"])
def test_import_takes_what_has_the_members(project, tmp_path, given):
    archive = tar(MEMBERS)
    root = project({"a": archived(archive, "http://127.0.0.1:9/a")})
    have = tmp_path / "have"
    put(have / "extracted", MEMBERS)
    put(have, {"other.tar.gz": tar({f"./x/{name}": content for name, content in MEMBERS.items()})})
    put(have / "archives", {"set.tar.gz": archive})
    with zipfile.ZipFile(have / "set.zip", "w") as out:
        for name, content in MEMBERS.items():
            out.writestr(name, content)
    paths = {
        "above": have / "extracted",
        "inside": have / "extracted" / "set",
        "other-archive": have / "other.tar.gz",
        "zip": have / "set.zip",
        "folder-with-archive": have / "archives",
    }
    folder = acquire.import_("a", paths[given])
    assert raw(root) == COMPLETE
    assert (folder / "set" / "train.txt").read_bytes() == MEMBERS["set/train.txt"]
    assert acquire.fetch("a") == folder


def test_import_can_link(project, tmp_path):
    project({"a": archived(b"x", "http://127.0.0.1:9/a")})
    have = put(tmp_path / "have", MEMBERS)
    folder = acquire.import_("a", have, link=True)
    assert (folder / "set" / "train.txt").readlink() == (have / "set" / "train.txt").resolve()


def test_import_of_other_content_names_the_member_and_keeps_what_was_there(project, tmp_path):
    root = project({"a": archived(b"x", "http://127.0.0.1:9/a")})
    acquire.import_("a", put(tmp_path / "good", MEMBERS))
    bad = put(tmp_path / "bad", MEMBERS | {"set/test.txt": b"threE\n"})
    with pytest.raises(UserError) as caught:
        acquire.import_("a", bad)
    assert str(caught.value) == (
        f"a: {bad} is not what the registry says: set/test.txt found sha256 {sha256(b'threE' + bytes([10]))}, "
        f"expected {sha256(MEMBERS['set/test.txt'])}"
    )
    assert caught.value.exit_code == 3
    assert raw(root) == COMPLETE


def test_import_of_folders_of_many_files(project, tmp_path):
    files = {"n01/a.JPEG": b"\xff\xd8\xff1", "n02/b.JPEG": b"\xff\xd8\xff2"}
    have = put(tmp_path / "have" / "train", files | {"n03/c.JPEG": b"of no listed class"})
    (tmp_path / "config" / "datasets").mkdir(parents=True, exist_ok=True)
    (tmp_path / "config" / "datasets" / "two.txt").write_text("n02\nn01\n")
    lines = "".join(f"{sha256(content)}  {name}\n" for name, content in sorted(files.items()))
    trees = {"train": {"files": 2, "digest": sha256(lines.encode())}}
    root = project({"a": entry(kind="image-folder", classes="two.txt", trees=trees)})
    acquire.import_("a", have.parent, link=True)
    assert checksums.tree_files(root / "data" / "raw" / "a" / "train") == ["n01/a.JPEG", "n02/b.JPEG"]
    (have / "n01" / "a.JPEG").write_bytes(b"\xff\xd8\xff3")
    with pytest.raises(UserError, match=r"train found digest [0-9a-f]{64}, expected"):
        acquire.import_("a", have.parent)


def test_import_of_folders_in_tiny_imagenets_layout(project, tmp_path):
    table = "val_0.JPEG\tn02\t0\t0\t9\t9\nval_1.JPEG\tn03\t0\t0\t9\t9\n"
    files = {
        "train/n01/images/n01_0.JPEG": b"1", "train/n02/images/n02_0.JPEG": b"2", "train/n03/images/n03_0.JPEG": b"3",
        "train/n01/n01_boxes.txt": b"-", "val/images/val_0.JPEG": b"4", "val/images/val_1.JPEG": b"5",
        "val/val_annotations.txt": table.encode(),
    }  # fmt: skip
    root = project(
        {"a": entry(kind="image-folder", classes="two.txt", trees={"train": {"files": 2}, "val": {"files": 1}})}
    )
    (root / "config" / "datasets" / "two.txt").write_text("n02\nn01\n")
    folder = acquire.import_("a", put(tmp_path / "have", files))
    assert raw(root) == {"train/n01/n01_0.JPEG", "train/n02/n02_0.JPEG", "val/n02/val_0.JPEG", acquire.ORIGIN}
    assert (folder / "val" / "n02" / "val_0.JPEG").read_bytes() == b"4"


def test_a_set_that_cannot_be_downloaded_says_how_to_get_it(project):
    manual = {"format": "manual", "downloads": [{"file": "big.tar", "md5": "0" * 32}]}
    project({"a": entry(trees={"train": {}}, sources=[manual])})
    with pytest.raises(
        UserError, match=rf"^a: big.tar \(md5 {'0' * 32}\) cannot be downloaded .* maskprior data import a PATH$"
    ):
        acquire.fetch("a")


def test_two_processes_download_once(server, project):
    archive = tar({name: content * 20 for name, content in MEMBERS.items()})
    members = {name: member(content * 20) for name, content in MEMBERS.items()}
    server.answers = {"/a": gives(archive, pause_s=0.05)}
    root = project({"a": archived(archive, f"{server.url}/a") | {"members": members}})
    command = [sys.executable, "-c", "from maskprior.datasets.acquire import fetch; fetch('a')"]
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert server.asked("/a") == 1
    assert raw(root) == COMPLETE


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB mounted at tmp_path / "data"."""
    folder = tmp_path / "data"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("announced", [True, False], ids=["size-known", "size-unknown"])
def test_a_full_disk_is_said_and_nothing_is_lost(server, project, small_disk, announced):
    content = bytes(range(256)) * 8192
    good = gives(content)

    def silent_about_length(handler):
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(OSError):
            handler.wfile.write(content)

    server.answers = {"/a": good if announced else silent_about_length}
    download = {"file": "x.bin", "urls": [f"{server.url}/a"], "cut_after": "<end>"}
    root = project(
        {"a": entry(members={"x.bin": member(content)}, sources=[{"format": "plain", "downloads": [download]}])}
    )
    with pytest.raises(UserError, match=r"^no space left for x.bin in .*; free some and repeat the command"):
        acquire.fetch("a", patience=IMPATIENT)
    assert raw(root) == set()
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    server.answers["/a"] = good
    acquire.fetch("a", patience=IMPATIENT)
    assert (root / "data" / "raw" / "a" / "x.bin").read_bytes() == content
    if not announced:
        assert server.requests[-1][1] is not None, "what was received before the disk was full is used"


def test_the_command_line_prints_one_line_and_exits_with_3(server, project):
    archive = tar(MEMBERS)
    server.answers = {"/bad": fails(404), "/good": gives(archive)}

    def call(address: str) -> subprocess.CompletedProcess:
        project({"a": archived(archive, f"{server.url}{address}")})
        command = [sys.executable, "-m", "maskprior", "data", "fetch", "a"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    bad, good = call("/bad"), call("/good")
    assert bad.returncode == 3
    assert bad.stderr.strip().splitlines()[-1] == (
        f"maskprior: a: {server.url}/bad: HTTP 404 Not Found. "
        "Get the files elsewhere (see https://example.org) and run: maskprior data import a PATH"
    )
    assert "Traceback" not in bad.stderr
    assert good.returncode == 0
    assert good.stdout == "a: data/raw/a complete, all checksums as registered\n"


def test_wikitext_rows_are_the_published_lines(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    rows = {"text": ["", " = Title = \n", "", " Words . \n"]}
    parquet.write_table(pyarrow.table(rows), tmp_path / "train.parquet")
    assert acquire._wikitext_lines(tmp_path / "train.parquet") == b" \n = Title = \n \n Words . \n"


def test_members_are_rebuilt_from_parquet_of_which_only_the_size_is_known(server, project, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    texts = {"wiki.train.tokens": ["", " one \n"], "wiki.valid.tokens": [" two \n"]}
    downloads = []
    for number, rows in enumerate(texts.values()):
        parquet.write_table(pyarrow.table({"text": rows}), tmp_path / f"{number}.parquet")
        content = (tmp_path / f"{number}.parquet").read_bytes()
        server.answers[f"/{number}"] = gives(content)
        downloads.append({"file": f"{number}.parquet", "urls": [f"{server.url}/{number}"], "size": len(content)})
    members = {"wiki.train.tokens": member(b" \n one \n"), "wiki.valid.tokens": member(b" two \n")}
    root = project({"a": entry(members=members, sources=[{"format": "wikitext-parquet", "downloads": downloads}])})
    acquire.fetch("a", patience=IMPATIENT)
    assert raw(root) == {*members, acquire.ORIGIN}
