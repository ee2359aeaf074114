from collections.abc import Callable
from pathlib import Path

import pytest

from maskprior.errors import UserError
from maskprior.runs.fingerprint import fingerprint
from maskprior.runs.record import remove_record
from maskprior.runs.spec import Run, make_run
from maskprior.runs.store import checkpoint_path, record_path, relative, resolve_record, stored_records

MakeRecord = Callable[..., Path]


def test_where_a_record_lies(run: Run, project: Path) -> None:
    short = fingerprint(run).digest[:8]
    assert record_path(run, "local") == project / f"results/local/smoke/boolean/2parity/mask/seed0-{short}.json"
    variant = make_run("boolean", "2parity", "default+position18", scale="reduced", seed=12)
    short = fingerprint(variant).digest[:8]
    assert relative(record_path(variant, "published")) == (
        f"results/published/reduced/boolean/2parity/default+position18/seed12-{short}.json"
    )


def test_published_before_local_before_missing(run: Run, make_record: MakeRecord) -> None:
    assert resolve_record(run).source == "missing"
    assert resolve_record(run).path == record_path(run, "local")
    local = make_record(run, "local")
    assert (resolve_record(run).source, resolve_record(run).path) == ("local", local)
    published = make_record(run, "published")
    assert (resolve_record(run).source, resolve_record(run).path) == ("published", published)


def test_recompute_never_sees_the_published_one(run: Run, make_record: MakeRecord) -> None:
    make_record(run, "published")
    assert resolve_record(run, recompute=True).source == "missing"
    local = make_record(run, "local")
    assert resolve_record(run, recompute=True).path == local


def test_a_change_of_configuration_makes_a_record_stale(run: Run, make_record: MakeRecord, project: Path) -> None:
    old = make_record(run, "published")
    config = project / "config" / "experiments" / "boolean.yaml"
    config.write_text(config.read_text().replace("heads: 3", "heads: 2"))
    assert resolve_record(run).source == "missing"
    assert list(stored_records("published", "smoke", "boolean")) == [old]
    remove_record(old)
    assert list(stored_records("published", "smoke", "boolean")) == []


def test_checkpoints_of_different_runs_never_meet(project: Path) -> None:
    words = [("2parity", "mask"), ("2parity", "default"), ("2parity", "default+position18"), ("cyclic3", "mask")]
    runs = [make_run("boolean", *w, scale=scale, seed=s) for w in words for scale in ("smoke", "paper") for s in (0, 1)]
    assert len({checkpoint_path(run) for run in runs}) == len(runs)
    assert all(checkpoint_path(run).parent == project / "results" / "checkpoints" for run in runs)


def test_a_path_outside_the_project_is_shown_as_it_is(project: Path, tmp_path: Path) -> None:
    assert relative(tmp_path / "x.json") == str(tmp_path / "x.json")


def test_an_impossible_run_has_no_place(project: Path) -> None:
    with pytest.raises(UserError):
        record_path(Run("boolean", "2parity", "nothing", "", "smoke", 0), "local")
