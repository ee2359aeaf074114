import json
from collections.abc import Callable
from pathlib import Path

import pytest

from maskprior.errors import UserError
from maskprior.evidence.verify import check_local, check_published, check_record, command, verify_all
from maskprior.runs.manifest import manifest_file, published_folder, state_record
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
    assert "`maskprior restore`" in str(caught.value)
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


@pytest.fixture
def published(project: Path, make_record: MakeRecord) -> list[Path]:
    """Two published records at the smoke scale, and one at the paper's."""
    cells = [("smoke", 0), ("smoke", 1), ("paper", 0)]
    return [make_record(make_run("boolean", "2parity", "mask", scale=s, seed=k), "published") for s, k in cells]


def smoke_runs(count: int = 2) -> list[Run]:
    return [make_run("boolean", "2parity", "mask", scale="smoke", seed=seed) for seed in range(count)]


def complaints(capsys: pytest.CaptureFixture[str], target: str = "all", count: int = 2) -> list[str]:
    """The lines that verify prints, its last one included; it must end with exit code 3."""
    with pytest.raises(UserError) as caught:
        verify_all(target, smoke_runs(count))
    assert caught.value.exit_code == 3
    return [*capsys.readouterr().out.splitlines(), str(caught.value)]


def test_all_published_records_of_every_scale_are_counted(
    published: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    verify_all("all", smoke_runs())
    assert capsys.readouterr().out == "3 of 3 published records (2 smoke, 1 paper) are there and intact\n"
    verify_all("table1", smoke_runs(1))
    assert capsys.readouterr().out == "1 of 1 published records (1 smoke) are there and intact\n"


@pytest.mark.parametrize("which", [0, 2], ids=["smoke", "paper"])
@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
@pytest.mark.parametrize("damage", ["changed", "truncated", "missing", "a folder"])
def test_a_damaged_file_is_one_line_with_the_remedy(
    published: list[Path], capsys: pytest.CaptureFixture[str], which: int, suffix: str, damage: str
) -> None:
    file = published[which].with_suffix(suffix)
    content = file.read_bytes()
    file.unlink()
    if damage == "changed":
        file.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    elif damage == "truncated":
        file.write_bytes(content[:100])
    elif damage == "a folder":
        file.mkdir()
    line, last = complaints(capsys)
    assert line.startswith(f"{relative(file)}: ")
    assert line.endswith("; restore it with `maskprior restore`")
    assert last == "2 of 3 published records (2 smoke, 1 paper) are there and intact; 1 problems are named above"


def test_a_changed_number_is_found(published: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    published[0].write_text(published[0].read_text().replace('"test_accuracy": 75.0', '"test_accuracy": 100.0'))
    assert "its sha256 is not the published one" in complaints(capsys)[0]
    with pytest.raises(UserError, match="its sha256 is not the published one") as caught:
        check_published(smoke_runs()[0])
    assert caught.value.exit_code == 3


def test_a_foreign_file_is_found(published: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    foreign = published[2].with_name("seed9-12345678.json")
    copy_record(published[2], foreign)
    lines = complaints(capsys)
    assert [line.split(": ")[1].split(";")[0] for line in lines[:2]] == ["not a published file"] * 2
    assert lines[2].startswith("3 of 3 ")


def test_a_lost_or_damaged_manifest_is_found(published: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    manifest = manifest_file(published_folder("paper", "boolean"))
    text = manifest.read_text()
    for damaged in (None, text[5:], text + text, "\n"):
        manifest.unlink(missing_ok=True)
        if damaged is not None:
            manifest.write_text(damaged)
        line, last = complaints(capsys)
        assert line.startswith("results/published/paper/boolean.sha256: ")
        assert line.endswith("`git checkout -- results/published/paper/boolean.sha256`")
        assert last.startswith("2 of 2 ")


def test_a_planned_run_without_a_published_record_is_named(
    published: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    line, last = complaints(capsys, count=3)
    assert "seed2-" in line
    assert "`maskprior run boolean 2parity mask --seed 2 --scale smoke`" in line
    assert last.startswith("3 of 3 ")


def test_a_record_of_other_code_is_named_once(
    published: list[Path], capsys: pytest.CaptureFixture[str], package: Path
) -> None:
    source = package / "attention.py"
    source.write_text(source.read_text() + "\nUNUSED = 1\n")
    *lines, last = complaints(capsys)
    assert sorted(lines) == sorted(
        f"{relative(path)}: of other code or configuration; re-stamp it with `maskprior rekey`" for path in published
    )
    assert last.startswith("3 of 3 ")


def test_stating_one_record_blesses_no_other(published: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    published[0].write_text(published[0].read_text().replace("75.0", "100.0"))
    state_record(published[1])
    assert complaints(capsys)[0].startswith(relative(published[0]))


def test_nothing_to_verify_is_an_error(project: Path) -> None:
    with pytest.raises(UserError, match=r"calibration: .*nothing to verify") as caught:
        verify_all("calibration", [])
    assert caught.value.exit_code == 3


def test_the_command_of_a_run_names_its_variant(project: Path) -> None:
    run = make_run("boolean", "2parity", "default+position18", scale="paper", seed=4)
    assert command(run) == "maskprior run boolean 2parity default+position18 --seed 4 --scale paper"
