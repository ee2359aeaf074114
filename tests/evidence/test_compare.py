import math
from collections.abc import Callable
from pathlib import Path

import pytest

from maskprior.errors import UserError
from maskprior.evidence.compare import SMOKE_TOLERANCES, TOLERANCES, Tolerance, compare, compare_all, tolerance
from maskprior.runs.environment import device_class
from maskprior.runs.record import Record, read_record
from maskprior.runs.spec import Run, make_run

MakeRecord = Callable[..., Path]


@pytest.fixture
def record(run: Run, make_record: MakeRecord) -> Record:
    return read_record(make_record(run))


def altered(record: Record, **changes: object) -> Record:
    return record.model_copy(update=changes)


def elsewhere(record: Record, **changes: object) -> Record:
    return altered(record, environment=record.environment | {"instruction_set": "AVX512"}, **changes)


def test_the_same_record_is_equal_bit_for_bit(record: Record) -> None:
    comparison = compare(record, record)
    assert comparison.passes
    assert comparison.verdict == "equal bit for bit"


def test_time_and_versions_of_python_do_not_count(record: Record) -> None:
    later = altered(record, environment=record.environment | {"seconds": 99.0, "python": "3.12.1"})
    assert compare(record, later).passes


@pytest.mark.parametrize("key", ["torch", "platform", "device", "threads", "instruction_set", "pinned"])
def test_what_changes_the_bits_is_another_device_class(record: Record, key: str) -> None:
    other = record.environment | {key: {"OMP_NUM_THREADS": "2"} if key == "pinned" else "other"}
    assert device_class(other) != device_class(record.environment)
    assert device_class(dict(record.environment)) == device_class(record.environment)


def test_one_bit_in_one_metric_fails_on_the_same_device_class(record: Record) -> None:
    value = record.metrics["test_loss"]
    assert value is not None
    off = altered(record, metrics=record.metrics | {"test_loss": math.nextafter(value, 1)})
    comparison = compare(record, off)
    assert not comparison.passes
    assert "NOT EQUAL" in comparison.verdict
    assert [row.quantity for row in comparison.rows if not row.passes] == ["test_loss"]
    assert compare(record, elsewhere(off)).passes


def test_one_bit_in_one_loss_or_in_the_arrays_fails_on_the_same_device_class(record: Record) -> None:
    losses = [record.loss_head[0], math.nextafter(record.loss_head[1], 9), *record.loss_head[2:]]
    assert not compare(record, altered(record, loss_head=losses)).passes
    assert not compare(record, altered(record, arrays_sha256="0" * 64)).passes
    assert compare(record, elsewhere(record, arrays_sha256="0" * 64)).passes


@pytest.mark.parametrize(
    ("scale", "quantity", "value", "allowed"),
    # absolute + relative x |published|, by hand from the tables
    [
        ("smoke", "test_accuracy", 75.0, 2.0),
        ("smoke", "test_loss", 0.1, 1e-5 + 1e-5),
        ("smoke", "best_step", 40.0, math.inf),
        ("reduced", "test_accuracy", 75.0, 1.0),
        ("reduced", "test_loss", 0.1, 0.01 + 0.005),
        ("reduced", "best_step", 40.0, math.inf),
    ],
)
def test_the_allowed_difference_and_no_more_passes_elsewhere(
    make_record: MakeRecord, project: Path, scale: str, quantity: str, value: float, allowed: float
) -> None:
    run = make_run("boolean", "2parity", "mask", scale=scale)
    record = read_record(make_record(run))
    assert tolerance(run, quantity, value) == pytest.approx(allowed)
    for factor, passes in ((0.99, True), (-0.99, True), (1.01, math.isinf(allowed))):
        difference = 1000.0 if math.isinf(allowed) else factor * allowed
        moved = elsewhere(record, metrics=record.metrics | {quantity: value + difference})
        assert compare(record, moved).passes is passes


def test_an_undefined_metric_equals_only_an_undefined_one(record: Record) -> None:
    undefined = altered(record, metrics=record.metrics | {"test_loss": None})
    assert compare(undefined, undefined).passes
    assert not compare(record, undefined).passes
    assert not compare(undefined, elsewhere(record)).passes


def test_a_missing_or_additional_metric_fails(record: Record) -> None:
    more = altered(record, metrics=record.metrics | {"new": 1.0})
    assert not compare(record, more).passes
    assert not compare(more, record).passes
    assert not compare(record, elsewhere(more)).passes


def test_fewer_losses_fail(record: Record) -> None:
    assert not compare(record, elsewhere(record, loss_head=record.loss_head[:2])).passes


@pytest.mark.parametrize("table", [SMOKE_TOLERANCES, TOLERANCES])
def test_every_tolerance_has_a_reason_and_the_last_one_takes_everything(table: tuple[Tolerance, ...]) -> None:
    assert all(len(row.reason) > 20 for row in table)
    assert table[-1].quantity == "*"


def test_published_against_local(make_record: MakeRecord, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [make_run("boolean", "2parity", "mask", scale="smoke", seed=seed) for seed in range(3)]
    with pytest.raises(
        UserError, match=r"no local record; train it with `maskprior run boolean 2parity mask"
    ) as caught:
        compare_all(runs)
    assert caught.value.exit_code == 3
    for run in runs[:2]:
        make_record(run, "published")
        make_record(run, "local")
    compare_all(runs)
    told = capsys.readouterr().out
    assert told.count("equal bit for bit") == 2
    assert "2 of 3 runs have a local record; 2 of them pass" in told
    make_record(runs[1], "local", metrics={"test_loss": 0.1, "test_accuracy": 74.0, "best_step": 40.0})
    with pytest.raises(UserError, match=r"1 of 2 local records differ .*boolean/2parity/mask/seed1") as caught:
        compare_all(runs)
    assert caught.value.exit_code == 4
    assert "test_accuracy" in capsys.readouterr().out


def test_a_local_record_without_a_published_one_names_the_missing(run: Run, make_record: MakeRecord) -> None:
    make_record(run, "local")
    with pytest.raises(UserError, match=r"^results/published/.*: missing") as caught:
        compare_all([run])
    assert caught.value.exit_code == 3
