"""The published records and the local ones: DVC restores the first and never touches the second."""

import shutil
from pathlib import Path

import pytest
from project import Project

pytestmark = pytest.mark.workflow
RERUN = ("boolean", "2parity", "mask", "--seed", "0")


def test_pull_with_local_records_present_loses_none(origin: Project, clone: Project) -> None:
    clone.maskprior("run", *RERUN)
    local = {path: path.read_bytes() for path in clone.records("local")}
    assert len(local) == 1
    shutil.rmtree(clone.folder / "results" / "published" / "smoke" / "boolean")
    clone.call("dvc", "pull")
    assert {path: path.read_bytes() for path in clone.records("local")} == local
    restored = {path.relative_to(clone.folder): path.read_bytes() for path in clone.records("published")}
    assert restored == {path.relative_to(origin.folder): path.read_bytes() for path in origin.records("published")}
    assert clone.call("git", "status", "--porcelain") == ""


def test_a_rerun_equals_the_published_record_and_leaves_it_alone(clone: Project) -> None:
    before = {path: path.read_bytes() for path in clone.records("published")}
    record = min(path for path in before if "/mask/" in str(path)).relative_to(clone.folder / "results" / "published")
    clone.snakemake(f"results/local/{record}")
    assert clone.records("local") == {clone.folder / "results" / "local" / record}
    assert {path: path.read_bytes() for path in clone.records("published")} == before
    run = "/".join([*record.parts[1:4], record.name.split("-")[0]])
    assert "bit for bit" in clone.maskprior("compare", run)


def test_a_damaged_published_record_is_named_with_the_remedy(clone: Project) -> None:
    damaged, missing = sorted(clone.records("published"))[:2]
    damaged.chmod(0o644)
    damaged.write_text(damaged.read_text()[:-20])
    missing.unlink()
    told = clone.maskprior("verify", expect=3)
    for record in (damaged, missing):
        assert any(record.name in line and "maskprior restore" in line for line in told.splitlines())


def test_an_object_missing_from_the_remote_fails_the_pull(origin: Project, tmp_path: Path) -> None:
    clone = origin.clone(tmp_path / "clone", pull=False)
    objects = [path for path in (clone.folder / "artifacts" / "dvc-remote").rglob("*") if path.is_file()]
    assert len(objects) > len(origin.records("published"))
    next(path for path in objects if not path.name.endswith(".dir")).unlink()
    clone.call("dvc", "pull", "--quiet", expect=1)
    clone.maskprior("verify", expect=3)
