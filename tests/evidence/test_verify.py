import json
from collections.abc import Callable
from pathlib import Path

import pytest

from maskprior.errors import UserError
from maskprior.evidence.verify import check_local, check_published, check_record, command, verify_all
from maskprior.runs.record import copy_record, read_record
from maskprior.runs.spec import Run, make_run
from maskprior.runs.store import relative

MakeRecord = Callable[..., Path]


def problem(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        check_record(path)
    assert caught.value.exit_code == 3
    assert str(caught.value).startswith(relative(path.with_suffix("")))
    return str(caught.value)


def change(path: Path, *keys: str, value: object) -> None:
    """Replace one value in the JSON, as a careless edit would."""
    content = json.loads(path.read_text())
    inner = content
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    path.write_text(json.dumps(content))


def test_an_intact_record_passes(run: Run, make_record: MakeRecord) -> None:
    path = make_record(run)
    assert check_record(path) == read_record(path)
    assert check_local(run).run == run


def test_an_edited_configuration_is_seen(run: Run, make_record: MakeRecord) -> None:
    path = make_record(run)
    change(path, "config", "optimizer", "lr", value=0.5)
    assert "its configuration is not the one its fingerprint says" in problem(path)


def test_an_edited_fingerprint_is_seen(run: Run, make_record: MakeRecord) -> None:
    path = make_record(run)
    change(path, "fingerprint", "code", value="0" * 64)
    assert "digest is not the hash of its parts" in problem(path)


@pytest.mark.parametrize(("key", "value"), [("seed", 7), ("method", "default"), ("scale", "paper"), ("variant", "x")])
def test_a_record_in_another_place_is_seen(run: Run, make_record: MakeRecord, key: str, value: object) -> None:
    path = make_record(run)
    change(path, "run", key, value=value)
    assert "it belongs to" in problem(path)


def test_damaged_arrays_are_seen(run: Run, make_record: MakeRecord) -> None:
    path = make_record(run)
    arrays = path.with_suffix(".safetensors")
    arrays.write_bytes(arrays.read_bytes() + b"x")
    assert "sha256" in problem(path)


def test_a_missing_record_names_both_remedies(run: Run, make_record: MakeRecord) -> None:
    with pytest.raises(UserError) as caught:
        check_published(run)
    assert "dvc pull" in str(caught.value)
    assert "`maskprior run boolean 2parity mask --seed 0 --scale smoke`" in str(caught.value)


def test_a_record_of_other_code_is_named_where_the_current_is_missing(
    run: Run, make_record: MakeRecord, package: Path
) -> None:
    old = make_record(run, "published")
    source = package / "attention.py"
    source.write_text(source.read_text() + "\nUNUSED = 1\n")
    with pytest.raises(UserError, match=rf"only {old.name} of other code .*maskprior rekey"):
        check_published(run)


def test_another_cells_record_under_this_name_is_seen(run: Run, make_record: MakeRecord) -> None:
    path, other = make_record(run), make_record(make_run("boolean", "2parity", "default", scale="smoke"))
    copy_record(other, path)
    assert f"it belongs to smoke/boolean/2parity/default/{other.name}" in problem(path)


def test_every_problem_is_listed_and_counted(
    make_record: MakeRecord, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [make_run("boolean", "2parity", "mask", scale="smoke", seed=seed) for seed in range(3)]
    make_record(runs[0], "published")
    damaged = make_record(runs[1], "published")
    damaged.write_text("{")
    with pytest.raises(UserError, match="2 of 3 published records are missing or corrupt") as caught:
        verify_all(runs)
    assert caught.value.exit_code == 3
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 2
    assert damaged.name in told[0]
    assert "seed2-" in told[1]
    verify_all(runs[:1])
    assert capsys.readouterr().out == "1 published records are there and intact\n"


def test_the_command_of_a_run_names_its_variant(project: Path) -> None:
    run = make_run("boolean", "2parity", "default+position18", scale="paper", seed=4)
    assert command(run) == "maskprior run boolean 2parity default+position18 --seed 4 --scale paper"
