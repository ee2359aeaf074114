"""The published results from every kind of remote: the folder in the repository, HTTP, S3; in clones and archives."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from project import HERE, Project

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
POINTER = "results/published/smoke/boolean.dvc"
RECORDS = {
    "2parity/mask/seed0-00000000.json": b'{"method": "mask"}\n',
    "2parity/mask/seed0-00000000.safetensors": b"\0" * 64,
    "2parity/default/seed0-11111111.json": b'{"method": "default"}\n',
}


@pytest.fixture
def published(tmp_path: Path) -> Project:
    """A git repository with the project's DVC configuration and three small files published as results are."""
    project = Project(tmp_path / "origin")
    project.folder.mkdir()
    for name in (".gitignore", ".dvcignore", ".dvc/config", "dvc.yaml", "dvc.lock", "config/datasets.yaml"):
        target = project.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((HERE / name).read_bytes())
    for name, content in RECORDS.items():
        target = project.folder / "results" / "published" / "smoke" / "boolean" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    project.call("git", "init", "--quiet", "--initial-branch", "main")
    project.call("dvc", "add", "--quiet", "results/published/smoke/boolean")
    project.call("dvc", "push", "--quiet")
    project.commit("Publish")
    return project


def restored(project: Project) -> dict[str, bytes]:
    folder = project.folder / "results" / "published" / "smoke" / "boolean"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_clone_pulls_from_the_folder_in_the_repository(published, tmp_path):
    copy = published.clone(tmp_path / "clone", pull=False)
    copy.call("dvc", "pull", "--quiet")
    assert restored(copy) == RECORDS


def test_one_row_or_one_record_can_be_pulled(published, tmp_path):
    copy = published.clone(tmp_path / "clone", pull=False)
    copy.call("dvc", "pull", "--quiet", "results/published/smoke/boolean/2parity/mask/seed0-00000000.json")
    assert restored(copy).keys() == {"2parity/mask/seed0-00000000.json"}
    copy.call("dvc", "pull", "--quiet", "results/published/smoke/boolean/2parity/mask")
    assert restored(copy) == {name: content for name, content in RECORDS.items() if "mask" in name}


def test_an_archive_without_git_says_or_does_what_is_needed(published, tmp_path):
    copy = Project(tmp_path / "archive")
    copy.folder.mkdir()
    tarball = tmp_path / "archive.tar"
    published.call("git", "archive", "--output", str(tarball), "HEAD")
    copy.call("tar", "-xf", str(tarball))
    copy.call("dvc", "config", "--local", "core.no_scm", "true")
    copy.call("dvc", "pull", "--quiet")
    assert restored(copy) == RECORDS


def test_data_sets_are_neither_pushed_nor_asked_for(published):
    stored = [path.read_bytes() for path in (published.folder / "artifacts").rglob("*") if path.is_file()]
    assert sorted(content for content in stored if content in RECORDS.values()) == sorted(RECORDS.values())
    assert len(stored) == len(RECORDS) + 1, "the records and the list of them"


def test_a_web_server_is_a_remote_to_read_from(published, tmp_path):
    with serving(
        [sys.executable, "-m", "http.server", "--bind", "127.0.0.1"], published.folder / "artifacts" / "dvc-remote"
    ) as url:
        copy = published.clone(tmp_path / "clone", pull=False)
        without_the_folder(copy)
        copy.call("dvc", "remote", "add", "web", url)
        copy.call("dvc", "pull", "--quiet", "--remote", "web")
        assert restored(copy) == RECORDS


@pytest.mark.skipif(
    not all(find_spec(name) for name in ("moto", "dvc_s3", "boto3")),
    reason="moto and dvc[s3] are not installed (requirements/s3.txt)",
)
def test_an_s3_bucket_is_a_remote_to_write_to_and_to_read_from(published, tmp_path):
    import boto3

    account = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    server = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p"]
    with serving(server, tmp_path) as url:
        session = boto3.Session("test", "test", region_name="us-east-1")
        session.client("s3", endpoint_url=url).create_bucket(Bucket="records")
        copy = published.clone(tmp_path / "clone")

        def use(project: Project) -> None:
            project.call("dvc", "remote", "add", "s3", "s3://records/maskprior")
            project.call("dvc", "remote", "modify", "--local", "s3", "endpointurl", url)

        use(copy)
        copy.call("dvc", "push", "--quiet", "--remote", "s3", **account)
        other = published.clone(tmp_path / "other", pull=False)
        without_the_folder(other)
        use(other)
        other.call("dvc", "remote", "default", "s3")
        other.call("dvc", "pull", "--quiet", **account)
        assert restored(other) == RECORDS


def without_the_folder(project: Project) -> None:
    """As if the repository had been cloned without artifacts/."""
    (project.folder / "artifacts").rename(project.folder / "elsewhere")


@contextmanager
def serving(command: list[str], folder: Path) -> Iterator[str]:
    """Start a server whose last argument is its port, wait until it answers, give its address, stop it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    process = subprocess.Popen(
        [*command, str(port)], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert process.poll() is None, f"{command} ended"
            try:
                with urllib.request.urlopen(url, timeout=5):
                    break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()
