"""With a real git repository and the real DVC."""

from collections.abc import Callable
from pathlib import Path

import pytest

from maskprior.errors import UserError
from maskprior.evidence.publish import publish
from maskprior.evidence.verify import check_published
from maskprior.runs.record import read_record
from maskprior.runs.spec import Run, make_run
from maskprior.runs.store import record_path
from tests.repository import call, commit, dvc

pytestmark = pytest.mark.workflow
MakeRecord = Callable[..., Path]


@pytest.fixture
def runs(project: Path) -> list[Run]:
    return [make_run("boolean", "2parity", "mask", scale="smoke", seed=seed) for seed in range(3)]


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_clone_restores_what_was_published(
    repository: Path,
    runs: list[Run],
    make_record: MakeRecord,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for run in runs[:2]:
        make_record(run)
    publish(runs, replace=False, dvc=True, smoke=True)
    told = capsys.readouterr().out
    assert "3 runs: 2 records published, 0 published already, 1 without a local record" in told
    folder = "results/published/smoke/boolean"
    assert f"git add {folder}.dvc {folder}.sha256 artifacts/dvc-remote && git commit" in told
    call(repository, "git", "add", *told.split("git add ")[1].split(" && ")[0].split())
    call(repository, "git", "commit", "--quiet", "--message", "Publish")
    assert call(repository, "git", "status", "--porcelain") == ""

    clone = tmp_path / "clone"
    call(tmp_path, "git", "clone", "--quiet", str(repository), str(clone))
    dvc(clone, "pull", "--quiet")
    assert files(clone / "results/published/smoke/boolean") == files(repository / "results/local/smoke/boolean")
    monkeypatch.setenv("MASKPRIOR_ROOT", str(clone))
    assert check_published(runs[1]).run == runs[1]


def test_nothing_is_tracked_again_while_published_files_are_not_here(
    repository: Path, runs: list[Run], make_record: MakeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_record(runs[0])
    publish(runs, replace=False, dvc=True, smoke=True)
    commit(repository)
    clone = tmp_path / "clone"
    call(tmp_path, "git", "clone", "--quiet", str(repository), str(clone))
    monkeypatch.setenv("MASKPRIOR_ROOT", str(clone))
    make_record(runs[1])
    with pytest.raises(UserError, match="restore it with `maskprior restore`") as caught:
        publish(runs, replace=False, dvc=True, smoke=True)
    assert caught.value.exit_code == 3
    assert not record_path(runs[1], "published").exists()
    dvc(clone, "pull", "--quiet")
    publish(runs, replace=False, dvc=True, smoke=True)
    assert [record_path(run, "published").exists() for run in runs] == [True, True, False]
    assert dvc(clone, "status", "--json").strip() == "{}"


def test_published_without_dvc_is_tracked_by_the_next_call_with_it(
    repository: Path, runs: list[Run], make_record: MakeRecord
) -> None:
    make_record(runs[0])
    publish(runs, replace=False, dvc=False, smoke=True)
    pointer = repository / "results/published/smoke/boolean.dvc"
    assert not pointer.exists()
    publish(runs, replace=False, dvc=True, smoke=True)
    assert pointer.exists()


def test_leftovers_of_an_interrupted_copy_are_not_published(
    repository: Path, runs: list[Run], make_record: MakeRecord
) -> None:
    make_record(runs[0])
    leftover = record_path(runs[0], "published").with_name(".seed0-1234.json.abcd")
    leftover.parent.mkdir(parents=True)
    leftover.write_text("{")
    publish(runs, replace=False, dvc=True, smoke=True)
    assert not leftover.exists()


def test_dvc_says_why_it_fails(repository: Path, runs: list[Run], make_record: MakeRecord) -> None:
    make_record(runs[0])
    config = repository / ".dvc" / "config"
    config.write_text(config.read_text().replace("remote = inside", ""))
    with pytest.raises(UserError, match=r"^dvc push failed: .*remote") as caught:
        publish(runs, replace=False, dvc=True, smoke=True)
    assert caught.value.exit_code == 3


# ---- without DVC -----------------------------------------------------------------------------------------------


def test_what_is_published_stays_unless_replaced(runs: list[Run], make_record: MakeRecord) -> None:
    published = make_record(runs[0], "published", metrics={"test_loss": 1.0})
    make_record(runs[0], "local", metrics={"test_loss": 2.0})
    publish(runs, replace=False, dvc=False, smoke=True)
    assert read_record(published).metrics == {"test_loss": 1.0}
    publish(runs, replace=True, dvc=False, smoke=True)
    assert read_record(published).metrics == {"test_loss": 2.0}


def test_replace_removes_records_of_other_code_of_the_same_run_only(
    runs: list[Run], make_record: MakeRecord, package: Path
) -> None:
    old = [make_record(run, "published") for run in runs[:2]]
    source = package / "attention.py"
    source.write_text(source.read_text() + "\nUNUSED = 1\n")
    new = make_record(runs[0], "local")
    publish(runs, replace=False, dvc=False, smoke=True)
    assert all(path.exists() for path in old)
    publish(runs, replace=True, dvc=False, smoke=True)
    assert not old[0].exists()
    assert not old[0].with_suffix(".safetensors").exists()
    assert old[1].exists()
    assert record_path(runs[0], "published").name == new.name
    assert check_published(runs[0]).run == runs[0]


def test_one_damaged_record_stops_all(runs: list[Run], make_record: MakeRecord, project: Path) -> None:
    make_record(runs[0])
    damaged = make_record(runs[1])
    damaged.with_suffix(".safetensors").write_bytes(b"")
    with pytest.raises(UserError, match="sha256"):
        publish(runs, replace=False, dvc=False, smoke=True)
    assert not (project / "results" / "published").exists()


def test_smoke_records_need_to_be_asked_for(runs: list[Run], make_record: MakeRecord, project: Path) -> None:
    make_record(runs[0])
    with pytest.raises(UserError, match="--scale smoke") as caught:
        publish(runs, replace=False, dvc=False, smoke=False)
    assert caught.value.exit_code == 2
    assert not (project / "results" / "published").exists()


def test_without_a_dvc_repository_the_error_says_so(runs: list[Run], make_record: MakeRecord) -> None:
    make_record(runs[0])
    with pytest.raises(UserError, match="not a DVC repository"):
        publish(runs, replace=False, dvc=True, smoke=True)
