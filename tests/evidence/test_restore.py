"""What is published comes back, with the real git and DVC: from a damaged folder, cache or remote."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from maskprior.errors import UserError
from maskprior.evidence.dvc import left_over, remote_in_project
from maskprior.evidence.publish import publish
from maskprior.evidence.restore import restore
from maskprior.evidence.verify import verify_all
from maskprior.runs.record import copy_record
from maskprior.runs.spec import Run, make_run
from maskprior.runs.store import record_path, relative
from tests.repository import call, commit, dvc

pytestmark = pytest.mark.workflow
MakeRecord = Callable[..., Path]
FOLDER = "results/published/smoke/boolean"


@pytest.fixture
def runs(project: Path) -> list[Run]:
    return [make_run("boolean", "2parity", "mask", scale="smoke", seed=seed) for seed in range(3)]


@pytest.fixture
def published(repository: Path, runs: list[Run], make_record: MakeRecord) -> dict[str, bytes]:
    """The published files of three runs, committed; the local ones stay."""
    for number, run in enumerate(runs):
        make_record(run, metrics={"test_loss": float(number)})
    publish(runs, replace=False, dvc=True, smoke=True)
    commit(repository)
    return files(repository / FOLDER)


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def truncate(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:50])


def change(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-5] + b"?" + path.read_bytes()[-4:])


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("somebody's")


@pytest.mark.parametrize("damage", [truncate, change, Path.unlink, make_folder])
@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
@pytest.mark.parametrize("cached", [True, False], ids=["from the cache", "from the remote"])
def test_a_damaged_file_comes_back(
    repository: Path,
    runs: list[Run],
    published: dict[str, bytes],
    damage: Callable[[Path], None],
    suffix: str,
    cached: bool,
) -> None:
    local = files(repository / "results" / "local")
    damage(record_path(runs[0], "published").with_suffix(suffix))
    if not cached:
        shutil.rmtree(repository / ".dvc" / "cache")
    restore()
    assert files(repository / FOLDER) == published
    assert files(repository / "results" / "local") == local
    verify_all("all", runs)
    assert dvc(repository, "status", "--json").strip() == "{}"
    assert call(repository, "git", "status", "--porcelain") == ""


def test_a_whole_clone_is_restored_and_restoring_again_does_nothing(
    repository: Path,
    published: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    clone = tmp_path / "clone"
    call(tmp_path, "git", "clone", "--quiet", str(repository), str(clone))
    monkeypatch.setenv("MASKPRIOR_ROOT", str(clone))
    restore()
    assert files(clone / FOLDER) == published
    capsys.readouterr()
    restore()
    assert capsys.readouterr().out == ""


def test_a_foreign_file_is_moved_and_named(
    repository: Path, runs: list[Run], published: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    record = record_path(runs[0], "published")
    foreign = record.with_name("seed7-01234567.json")
    for content in ("first", "second"):
        foreign.write_text(content)
        restore()
    assert files(repository / FOLDER) == published
    aside = repository / "results" / "set-aside" / foreign.relative_to(repository / "results" / "published")
    assert (aside.read_text(), aside.with_name(f"{aside.name}.2").read_text()) == ("first", "second")
    assert f"{relative(foreign)}: not a published file; moved to {relative(aside)}" in capsys.readouterr().out
    assert call(repository, "git", "status", "--porcelain") == ""


def object_of(folder: Path, content: bytes) -> Path:
    """The object of this content in DVC's cache or remote."""
    return next(path for path in (folder / "files").rglob("*") if path.is_file() and path.read_bytes() == content)


@pytest.mark.parametrize("damage", [truncate, change])
def test_a_damaged_cache_heals(
    repository: Path, runs: list[Run], published: dict[str, bytes], damage: Callable[[Path], None]
) -> None:
    record = record_path(runs[0], "published")
    content = record.read_bytes()
    cached = object_of(repository / ".dvc" / "cache", content)
    damage(cached)
    cached.chmod(0o444)  # as DVC leaves it, and as it trusts it
    record.unlink()
    restore()
    assert files(repository / FOLDER) == published
    assert cached.read_bytes() == content


def test_a_damaged_list_of_files_in_the_cache_heals(repository: Path, published: dict[str, bytes]) -> None:
    change(next((repository / ".dvc" / "cache").rglob("*.dir")))
    shutil.rmtree(repository / FOLDER)
    restore()
    assert files(repository / FOLDER) == published


@pytest.mark.parametrize("damage", [truncate, change, Path.unlink])
@pytest.mark.parametrize("cached", [True, False], ids=["with a cache", "without a cache"])
def test_a_damaged_object_in_the_remote_is_named_and_spoils_nothing(
    repository: Path,
    runs: list[Run],
    published: dict[str, bytes],
    damage: Callable[[Path], None],
    cached: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    record, other = (record_path(run, "published") for run in runs[:2])
    remote = repository / "artifacts" / "dvc-remote"
    damaged = object_of(remote, record.read_bytes())
    damage(damaged)
    record.unlink()
    other.unlink()
    capsys.readouterr()
    if cached:
        restore()
        assert files(repository / FOLDER) == published
        return
    shutil.rmtree(repository / ".dvc" / "cache")
    with pytest.raises(UserError, match=r"^1 published files could not be restored") as caught:
        restore()
    assert caught.value.exit_code == 3
    assert "\n" not in str(caught.value)
    told = capsys.readouterr().out
    named = [line for line in told.splitlines() if relative(damaged) in line]
    assert len(named) == 1, (told, damaged)
    assert named[0].startswith(f"{relative(record)}: ")
    assert "`git checkout -- artifacts/dvc-remote`" in named[0]
    assert not record.exists()
    assert other.exists()
    # The named remedy is one.
    call(repository, "git", "checkout", "--", "artifacts/dvc-remote")
    restore()
    assert files(repository / FOLDER) == published


@pytest.mark.parametrize("damage", [change, Path.unlink])
def test_a_damaged_list_of_files_in_the_remote_is_named(
    repository: Path,
    published: dict[str, bytes],
    damage: Callable[[Path], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    damaged = next((repository / "artifacts" / "dvc-remote").rglob("*.dir"))
    damage(damaged)
    shutil.rmtree(repository / ".dvc" / "cache")
    shutil.rmtree(repository / FOLDER)
    with pytest.raises(UserError, match="could not be restored"):
        restore()
    assert relative(damaged) in capsys.readouterr().out
    call(repository, "git", "checkout", "--", "artifacts/dvc-remote")
    restore()
    assert files(repository / FOLDER) == published


# ---- the remote that is part of the project --------------------------------------------------------------------


def test_the_remote_holds_what_the_tree_refers_to_and_nothing_else(
    repository: Path, runs: list[Run], published: dict[str, bytes], make_record: MakeRecord
) -> None:
    remote = remote_in_project()
    assert remote is not None
    first = set(remote.objects())
    assert len(first) == 1 + len(set(published.values()))
    old = object_of(remote.folder, record_path(runs[0], "published").read_bytes())
    make_record(runs[0], metrics={"test_loss": 9.0})
    publish(runs[:1], replace=True, dvc=True, smoke=True)
    assert left_over(remote) == []
    assert not old.exists()
    # The list of files and one JSON are others now; the arrays of all runs are the same.
    assert len(set(remote.objects()) - first) == 2
    assert len(first - set(remote.objects())) == 2
    shutil.rmtree(repository / ".dvc" / "cache")
    shutil.rmtree(repository / FOLDER)
    restore()
    verify_all("all", runs)


def test_line_endings_stay_in_a_clone_that_rewrites_them(
    repository: Path,
    runs: list[Run],
    published: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clone = tmp_path / "clone"
    settings = ("-c", "core.autocrlf=true", "-c", "core.eol=crlf")
    call(tmp_path, "git", "clone", "--quiet", *settings, str(repository), str(clone))
    tracked = call(repository, "git", "ls-files").splitlines()
    assert len(tracked) > 20
    assert [name for name in tracked if (clone / name).read_bytes() != (repository / name).read_bytes()] == []
    monkeypatch.setenv("MASKPRIOR_ROOT", str(clone))
    restore()
    verify_all("all", runs)


def test_nothing_is_published_while_a_published_file_is_changed(
    runs: list[Run], published: dict[str, bytes], make_record: MakeRecord
) -> None:
    change(record_path(runs[1], "published"))
    make_record(runs[0], metrics={"test_loss": 9.0})
    with pytest.raises(UserError, match="nothing is published before that") as caught:
        publish(runs[:1], replace=True, dvc=True, smoke=True)
    assert caught.value.exit_code == 3


def test_publishing_goes_on_where_it_was_interrupted(
    repository: Path, runs: list[Run], make_record: MakeRecord
) -> None:
    for run in runs:
        make_record(run)
    publish(runs[:1], replace=False, dvc=True, smoke=True)
    # A copy was written and not yet stated in the manifest.
    copy_record(record_path(runs[1], "local"), record_path(runs[1], "published"))
    publish(runs, replace=False, dvc=True, smoke=True)
    verify_all("all", runs)
