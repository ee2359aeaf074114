"""With real trainings. What runs is this package; what is fingerprinted is a copy of it that tests may edit."""

import json
import math
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from maskprior import paths
from maskprior.config.settings import Settings
from maskprior.errors import UserError
from maskprior.evidence import earlier
from maskprior.evidence.golden import golden_file, write_golden
from maskprior.evidence.rekey import changed_keys, rekey
from maskprior.evidence.verify import check_local, check_published
from maskprior.experiments.run import execute, replay_losses
from maskprior.runs.environment import cpu_family
from maskprior.runs.manifest import published_folder, state_folder, state_record
from maskprior.runs.record import read_record
from maskprior.runs.spec import Run, make_run
from maskprior.runs.store import record_path, stored_records
from tests.hand_made_records import SOURCE

Rekey = Callable[[], str]


@pytest.fixture
def runs(golden: Path, trained: Path) -> list[Run]:
    """Two trained runs, each with a published and a local record, in the small project with golden records."""
    results = golden.parents[2] / "results"
    for kind in ("published", "local"):
        shutil.copytree(trained, results / kind)
    state_folder(published_folder("smoke", "boolean"))
    return [make_run("boolean", "2parity", "mask", scale="smoke", seed=seed) for seed in (0, 1)]


@pytest.fixture
def moved(runs: list[Run], package: Path) -> None:
    """The code moves in a way that changes no number."""
    source = package / "attention.py"
    source.write_text(source.read_text() + "\nUNUSED = 1\n")


@pytest.fixture
def call(settings: Settings, capsys: pytest.CaptureFixture[str]) -> Rekey:
    """Re-stamps what it can and returns what was printed, with the error as the last line."""

    def rekey_all() -> str:
        capsys.readouterr()
        try:
            rekey("boolean", settings, replay=replay_losses, execute=execute, dvc=False)
        except UserError as error:
            return f"{capsys.readouterr().out}{error} (exit code {error.exit_code})"
        return capsys.readouterr().out

    return rekey_all


def stored() -> dict[Path, bytes]:
    return {
        path: path.read_bytes() for kind in ("published", "local") for path in stored_records(kind, "smoke", "boolean")
    }


def edit_record(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_current_records_are_left_alone(runs: list[Run], call: Rekey) -> None:
    before = stored()
    assert call() == "boolean at scale smoke: 0 stale records, none to re-stamp\n"
    assert stored() == before


def test_records_whose_numbers_replay_get_the_new_name_and_keep_the_evidence(
    runs: list[Run], package: Path, call: Rekey
) -> None:
    old = {run: read_record(record_path(run, "published")) for run in runs}
    arrays = {run: record_path(run, "published").with_suffix(".safetensors").read_bytes() for run in runs}
    source = package / "attention.py"
    source.write_text(source.read_text() + "\nUNUSED = 1\n")
    assert "4 records re-stamped, 0 stay stale" in call()
    for run in runs:
        for new in (check_published(run), check_local(run)):
            assert [(entry.old, entry.new, entry.replayed_losses) for entry in new.rekeyed] == [
                (old[run].fingerprint, new.fingerprint, 32)
            ]
            assert new.model_copy(update={"fingerprint": old[run].fingerprint, "rekeyed": []}) == old[run]
        assert record_path(run, "published").with_suffix(".safetensors").read_bytes() == arrays[run]
    assert len(stored()) == 4
    assert "none to re-stamp" in call()


def test_a_second_move_adds_to_the_history(runs: list[Run], package: Path, call: Rekey) -> None:
    source = package / "attention.py"
    for number in (1, 2):
        source.write_text(source.read_text() + f"\nUNUSED_{number} = 1\n")
        call()
    history = check_published(runs[0]).rekeyed
    assert len(history) == 2
    assert history[0].new == history[1].old


def test_a_record_whose_losses_do_not_replay_stays_and_is_named(moved: None, runs: list[Run], call: Rekey) -> None:
    path = next(path for path in stored() if "/local/" in path.as_posix() and path.name.startswith("seed1"))
    losses = read_record(path).loss_head
    losses[31] = math.nextafter(losses[31], 9)
    edit_record(path, loss_head=losses)
    before = path.read_bytes()
    told = call()
    assert f"{path.name}: stays: its first losses do not replay on the current code" in told
    assert "3 records re-stamped, 1 stay stale" in told
    assert told.endswith("1 records do not replay on the current code; each is named above (exit code 4)")
    assert path.read_bytes() == before
    assert not record_path(runs[1], "local").exists()
    assert check_published(runs[1]).run == runs[1]


def test_nothing_is_restamped_when_a_golden_record_moved(moved: None, golden: Path, call: Rekey) -> None:
    content = json.loads(golden.read_text())
    metrics = content["runs"]["boolean/2parity/default/seed0"]["metrics"]
    metrics["test_loss"] = math.nextafter(metrics["test_loss"], 9)
    golden.write_text(json.dumps(content))
    before = stored()
    told = call()
    assert "boolean/2parity/default/seed0: NOT EQUAL on the same device class" in told
    assert told.endswith(
        "1 of 3 golden boolean records moved: boolean/2parity/default/seed0; nothing is re-stamped (exit code 4)"
    )
    assert stored() == before


def made_elsewhere(golden: Path, *, moved: bool) -> None:
    """The golden records, as if another class of processor had made them; `moved`: with other last bits."""
    content = json.loads(golden.read_text())
    content["environment"]["device"] = "another"
    if moved:
        metrics = content["runs"]["boolean/2parity/default/seed0"]["metrics"]
        metrics["test_loss"] = math.nextafter(metrics["test_loss"], 9)
    golden.write_text(json.dumps(content))


def test_equal_bits_are_evidence_on_any_device_class(moved: None, golden: Path, call: Rekey) -> None:
    """Golden records and a record that another class of processor made: equal here, so they are re-stamped here."""
    made_elsewhere(golden, moved=False)
    path = next(iter(stored()))
    edit_record(path, environment=read_record(path).environment | {"device": "another"})
    state_record(path)
    assert "4 records re-stamped, 0 stay stale" in call()
    (entry,) = next(
        record.rekeyed for record in map(read_record, stored()) if record.environment["device"] == "another"
    )
    assert entry.replayed_on.startswith(f"{cpu_family()}, torch ")


def test_unequal_golden_records_of_another_device_class_leave_it_undecided(
    moved: None, golden: Path, call: Rekey
) -> None:
    made_elsewhere(golden, moved=True)
    before = stored()
    told = call()
    assert (
        "undecided: 1 golden records, boolean/2parity/default/seed0 the first, are not equal bit for bit here" in told
    )
    assert "made on another device class (another, torch" in told
    assert stored() == before


def test_an_unequal_replay_of_another_device_class_is_undecided(moved: None, call: Rekey) -> None:
    path = next(iter(stored()))
    record = read_record(path)
    losses = [*record.loss_head[:31], math.nextafter(record.loss_head[31], 9)]
    edit_record(path, environment=record.environment | {"device": "another"}, loss_head=losses)
    state_record(path)
    before, told = path.read_bytes(), call()
    assert f"{path.name}: stays: undecided: its first losses do not replay here" in told
    assert "3 records re-stamped, 1 stay stale" in told
    assert "exit code" not in told
    assert path.read_bytes() == before


def test_a_choice_that_became_a_variant_takes_its_records_along(runs: list[Run], small: Path, call: Rekey) -> None:
    """The configuration chooses another width now, and what it chose before is the variant `narrow`."""
    path = small / "config" / "experiments" / "boolean.yaml"
    file = yaml.safe_load(path.read_text())
    width = file["scales"]["smoke"]["model"]["mlp_dim"]
    file["scales"]["smoke"]["model"]["mlp_dim"] = 2 * width
    file["variants"] = {"hadamard": file["variants"]["hadamard"], "narrow": {"model": {"mlp_dim": width}}}
    path.write_text(yaml.safe_dump(file))
    golden = golden_file("boolean")
    write_golden("boolean", execute)
    assert golden.exists()
    assert "4 records re-stamped, 0 stay stale" in call()
    for run in runs:
        moved = check_published(replace(run, variant="narrow"))
        assert moved.rekeyed[0].was == run.name
        assert not record_path(run, "published").exists()


def test_another_configuration_stays(runs: list[Run], small: Path, call: Rekey) -> None:
    before = stored()
    path = small / "config" / "experiments" / "boolean.yaml"
    path.write_text(path.read_text().replace("heads: 3", "heads: 2"))
    told = call()
    assert told.count("stays: its configuration is another: model.heads\n") == 4
    assert stored() == before


def test_another_version_of_the_data_stays(runs: list[Run], small: Path, call: Rekey) -> None:
    path = small / "config" / "datasets.yaml"
    path.write_text(path.read_text().replace("preparation: 1", "preparation: 2", 1))
    assert call().count("stays: its data are another version\n") == 4


def test_a_corrupt_record_and_a_run_that_is_gone_stay(moved: None, small: Path, call: Rekey) -> None:
    corrupt = next(iter(stored()))
    corrupt.write_text("{")
    told = call()
    assert any(corrupt.name in line and "corrupt" in line for line in told.splitlines())
    path = small / "config" / "experiments" / "boolean.yaml"
    path.write_text(path.read_text().replace("mask: {}", "masked: {}").replace("- mask\n", "- masked\n"))
    assert "its run is not in the configuration any more" in call()


def test_a_record_trained_again_since_is_not_replaced(runs: list[Run], package: Path, call: Rekey) -> None:
    source = package / "attention.py"
    source.write_text(source.read_text() + "\nUNUSED = 1\n")
    newer = execute(runs[0], device="cpu")
    before = newer.read_bytes()
    assert "stays: there is a record of the current code beside it" in call()
    assert newer.read_bytes() == before


def test_changed_keys_are_named_with_their_section() -> None:
    old = {"a": 1, "b": {"c": 2, "d": 3}, "gone": 0}
    new = {"a": 1, "b": {"c": 2, "d": 4}, "added": 5, "default": 6}
    assert changed_keys(old, new, given={"a": 1, "b": {"d": 4}, "added": 5}) == ["b.d", "gone", "added"]


def test_a_new_key_at_its_default_is_no_change() -> None:
    assert changed_keys({"b": {"c": 2}}, {"b": {"c": 2, "new": 1}, "section": {"x": 1}}, given={"b": {"c": 2}}) == []
    assert changed_keys({"b": {"c": 2}}, {"b": {"c": 2, "new": 1}}, given={"b": {"c": 2, "new": 1}}) == ["b.new"]


# ---- against the code of an earlier commit


@pytest.fixture
def earlier_code(small: Path) -> Path:
    """The small project as a git repository, with the package as its code; the package's folder in it."""
    shutil.copytree(SOURCE / "src", small / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return small / "src" / "maskprior"


def commit(project: Path) -> str:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "src", "config"], ["commit", "-qm", "earlier"]):
        subprocess.run([*git, *words], cwd=project, check=True)
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project, check=True, capture_output=True, text=True)
    return found.stdout.strip()


def rekey_against_head(settings: Settings) -> None:
    rekey("boolean", settings, replay=replay_losses, execute=execute, against="HEAD", dvc=False)


@pytest.mark.slow
def test_records_of_an_earlier_commit_whose_numbers_are_equal_here_are_restamped(
    earlier_code: Path, small: Path, runs: list[Run], moved: None, settings: Settings
) -> None:
    """Without a golden record and without a replay: neither could be equal on another processor."""
    head = commit(small)
    golden_file("boolean").unlink()
    rekey_against_head(settings)
    for run in runs:
        for check in (check_published, check_local):
            evidence = check(run).rekeyed[-1]
            assert (evidence.against, evidence.replayed_losses) == (head, 0)
    assert not subprocess.run(["git", "worktree", "prune", "-v"], cwd=small, check=True, capture_output=True).stdout


@pytest.mark.slow
def test_records_of_an_earlier_commit_whose_numbers_are_other_stay(
    earlier_code: Path,
    small: Path,
    moved: None,
    package: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The earlier code divides by 2 sqrt(d); one record bears its identity, the others bear that of neither code."""
    source = earlier_code / "attention.py"
    source.write_text(source.read_text().replace("math.sqrt(queries.shape[-1])", "2 / math.sqrt(queries.shape[-1])"))
    commit(small)
    shutil.rmtree(small / "results")
    with monkeypatch.context() as patch:
        patch.setattr(paths, "package", lambda: earlier_code)
        path = execute(make_run("boolean", "2parity", "mask", scale="smoke"), device="cpu")
    source = package / "models" / "encoder.py"
    with monkeypatch.context() as patch:
        patch.setattr(paths, "package", lambda: package)
        source.write_text(source.read_text() + "\nUNUSED = 2\n")
        other = execute(make_run("boolean", "2parity", "default", scale="smoke"), device="cpu")
    source.write_text(source.read_text() + "\nUNUSED = 3\n")
    with pytest.raises(UserError, match="1 records are not what the earlier code gives") as caught:
        rekey_against_head(settings)
    assert caught.value.exit_code == 4
    told = capsys.readouterr().out
    assert f"{path.name}: stays: its cell is not what the code of HEAD gives" in told
    assert f"{other.name}: stays: its code is not that of HEAD" in told
    assert path.exists()
    assert other.exists()


def test_an_unknown_commit_is_one_line(earlier_code: Path, small: Path, runs: list[Run], moved: None) -> None:
    commit(small)
    with pytest.raises(UserError, match="git rev-parse --verify: fatal: Needed a single revision"):
        earlier.commit("nonsense")
