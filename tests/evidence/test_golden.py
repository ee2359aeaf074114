"""The golden records' own machinery, with real trainings of a small project."""

import json
import math
from pathlib import Path

import pytest
import yaml

from maskprior import paths
from maskprior.errors import UserError
from maskprior.evidence.golden import check, golden_runs, read_golden, write_golden
from maskprior.experiments.run import execute


def test_every_method_and_each_variant_once(golden: Path) -> None:
    names = ["boolean/2parity/default/seed0", "boolean/2parity/mask/seed0", "boolean/2parity/mask+hadamard/seed0"]
    assert [run.name for run in golden_runs("boolean")] == names
    assert list(read_golden("boolean").runs) == names
    assert {run.scale for run in golden_runs("boolean")} == {"smoke"}


def test_a_variant_that_only_changes_numbers_needs_none(small: Path) -> None:
    path = small / "config" / "experiments" / "boolean.yaml"
    file = yaml.safe_load(path.read_text())
    file["targets"] = {"table1": {"methods": ["default+position18", "mask+layered", "default+layered", "mask+sgd"]}}
    path.write_text(yaml.safe_dump(file))
    assert [run.name for run in golden_runs("boolean") if run.variant] == [
        "boolean/2parity/mask+layered/seed0", "boolean/2parity/mask+sgd/seed0"
    ]  # fmt: skip


def test_floats_are_exact_and_complete(golden: Path) -> None:
    numbers = read_golden("boolean").runs["boolean/2parity/mask/seed0"]
    assert len(numbers.loss_head) == 32
    assert {"test_loss", "test_accuracy", "unseen_loss"} <= set(numbers.metrics)
    written = json.loads(golden.read_text())["runs"]["boolean/2parity/mask/seed0"]["loss_head"]
    assert [float(value).hex() for value in written] == [value.hex() for value in numbers.loss_head]


def test_the_current_code_gives_them_bit_for_bit_and_leaves_nothing_behind(
    golden: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check("boolean", execute)
    told = capsys.readouterr().out
    assert told.splitlines()[-1] == (
        "3 golden boolean records unchanged: compared bit for bit, on the device class they were made on"
    )
    assert not paths.results("local").exists()
    assert not paths.checkpoints().exists()


def test_one_bit_is_seen_and_named(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads(golden.read_text())
    losses = content["runs"]["boolean/2parity/mask/seed0"]["loss_head"]
    losses[5] = math.nextafter(losses[5], 9)
    golden.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"1 of 3 golden boolean records moved: boolean/2parity/mask/seed0$") as caught:
        check("boolean", execute)
    assert caught.value.exit_code == 4
    assert f"loss_head[5] was {losses[5]!r}, is " in capsys.readouterr().out


def test_elsewhere_the_same_bit_is_within_the_tolerance_and_it_says_so(
    golden: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = json.loads(golden.read_text())
    losses = content["runs"]["boolean/2parity/mask/seed0"]["loss_head"]
    losses[5] = math.nextafter(losses[5], 9)
    content["environment"]["device"] = "another"
    golden.write_text(json.dumps(content))
    check("boolean", execute)
    assert "within the tolerance, since this is another device class" in capsys.readouterr().out
    losses[5] *= 1.1
    golden.write_text(json.dumps(content))
    with pytest.raises(UserError, match="moved"):
        check("boolean", execute)


def test_a_new_method_without_a_golden_record_is_named(golden: Path) -> None:
    content = json.loads(golden.read_text())
    del content["runs"]["boolean/2parity/mask/seed0"]
    golden.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"tests/golden/boolean\.json: boolean/2parity/mask/seed0: .*--write"):
        check("boolean", execute)


def test_a_missing_and_a_damaged_file_are_named(golden: Path) -> None:
    golden.write_text("{")
    with pytest.raises(UserError, match=r"^tests/golden/boolean\.json: .*git") as caught:
        read_golden("boolean")
    assert caught.value.exit_code == 3
    golden.unlink()
    with pytest.raises(UserError, match=r"^tests/golden/boolean\.json: missing"):
        read_golden("boolean")


def test_two_processes_give_the_same_bits(golden: Path) -> None:
    before = golden.read_text()
    write_golden("boolean", execute, jobs=2)
    assert golden.read_text() == before
