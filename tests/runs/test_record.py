import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maskprior.errors import UserError
from maskprior.runs.record import copy_record, pack_arrays, read_arrays, read_record, remove_record, write_record
from maskprior.runs.spec import Run

MakeRecord = Callable[..., Path]

finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(st.lists(finite, max_size=32), st.dictionaries(st.text(min_size=1, max_size=5), st.none() | finite, max_size=4))
def test_every_float_survives_bit_for_bit(
    run: Run, make_record: MakeRecord, losses: list[float], metrics: dict[str, float | None]
) -> None:
    record = read_record(make_record(run, loss_head=losses, metrics=metrics))
    assert [value.hex() for value in record.loss_head] == [value.hex() for value in losses]
    assert {name: value if value is None else value.hex() for name, value in record.metrics.items()} == {
        name: value if value is None else value.hex() for name, value in metrics.items()
    }


def test_arrays_survive_with_type_and_shape(run: Run, make_record: MakeRecord) -> None:
    arrays = {
        "b": np.arange(6, dtype=np.float16).reshape(2, 3).T,
        "a": np.array([1, 2], dtype=np.int64),
        "one": np.array(0.1),
    }
    packed, digest = pack_arrays(arrays)
    path = make_record(run)
    record = read_record(path).model_copy(update={"arrays_sha256": digest})
    write_record(path, record, packed)
    back = read_arrays(path, read_record(path))
    assert sorted(back) == sorted(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array, strict=True)


def test_the_order_of_arrays_does_not_matter() -> None:
    one, two = np.arange(3), np.ones(2)
    assert pack_arrays({"a": one, "b": two}) == pack_arrays({"b": two, "a": one})


@pytest.mark.parametrize("value", ["NaN", "Infinity", '"many"'])
def test_a_number_that_is_none_is_corrupt(run: Run, make_record: MakeRecord, value: str) -> None:
    path = make_record(run)
    path.write_text(path.read_text().replace('"test_loss": 0.1', f'"test_loss": {value}'))
    with pytest.raises(UserError, match=r"corrupt record \(metrics\.test_loss: ") as caught:
        read_record(path)
    assert caught.value.exit_code == 3


def test_a_truncated_an_empty_and_a_missing_record_are_told_apart(run: Run, make_record: MakeRecord) -> None:
    path = make_record(run)
    whole = path.read_text()
    for text in (whole[:200], ""):
        path.write_text(text)
        with pytest.raises(UserError, match=r"^results/local/.*: corrupt record .*maskprior restore") as caught:
            read_record(path)
        assert caught.value.exit_code == 3
    path.unlink()
    with pytest.raises(UserError, match=r"^results/local/.*: no such record; .*maskprior restore"):
        read_record(path)


def test_an_unknown_key_is_refused(run: Run, make_record: MakeRecord) -> None:
    path = make_record(run)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"extra": 1}))
    with pytest.raises(UserError, match="extra"):
        read_record(path)


def test_one_flipped_bit_in_the_arrays_is_seen(run: Run, make_record: MakeRecord) -> None:
    path = make_record(run)
    file = path.with_suffix(".safetensors")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(UserError, match="its sha256 is not the one in seed0-") as caught:
        read_arrays(path, read_record(path))
    assert caught.value.exit_code == 3


def test_missing_arrays_are_named(run: Run, make_record: MakeRecord) -> None:
    path = make_record(run)
    path.with_suffix(".safetensors").unlink()
    with pytest.raises(UserError, match=r"seed0-\w+\.safetensors: missing"):
        read_arrays(path, read_record(path))


def test_a_copy_has_the_same_bytes_and_a_removed_record_leaves_nothing(
    run: Run, make_record: MakeRecord, tmp_path: Path
) -> None:
    path = make_record(run)
    other = tmp_path / "elsewhere" / path.name
    copy_record(path, other)
    for suffix in (".json", ".safetensors"):
        assert other.with_suffix(suffix).read_bytes() == path.with_suffix(suffix).read_bytes()
    remove_record(other)
    assert list(other.parent.iterdir()) == []


# ---- interrupted writing ---------------------------------------------------------------------------------------


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("existing", [False, True])
def test_whatever_step_fails_no_half_record_is_seen(
    run: Run, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch, step: str, call: int, existing: bool
) -> None:
    """The first call of fsync and rename is for the arrays, the second for the JSON."""
    path = make_record(run)
    record = read_record(path)
    packed, digest = pack_arrays({"other": np.arange(5)})
    if not existing:
        remove_record(path)
    original, calls = getattr(os, step), []

    def fail(*arguments: object) -> None:
        calls.append(arguments)
        if len(calls) == call:
            raise Interrupted
        original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(Interrupted):
            write_record(path, record.model_copy(update={"arrays_sha256": digest}), packed)
    if path.exists():
        read_arrays(path, read_record(path))
    assert [file.name for file in path.parent.iterdir() if file.name.startswith(".")] == []


WRITER = """
import sys
import numpy as np
from pathlib import Path
from maskprior.runs.record import pack_arrays, read_record, write_record

template = Path(sys.argv[1])
record = read_record(template)
print("ready", flush=True)
for number in range(10**9):
    packed, digest = pack_arrays({"number": np.full(20_000, number)})
    path = template.parent / "written" / str(number % 20) / template.name
    write_record(path, record.model_copy(update={"arrays_sha256": digest, "loss_head": [float(number)]}), packed)
"""


def test_kill_9_at_any_moment_leaves_whole_records_only(run: Run, make_record: MakeRecord) -> None:
    """A writer of new records, which soon overwrites its old ones, is killed again and again."""
    template, moments, seen = make_record(run), random.Random(0), 0
    for _ in range(6):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(template)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(moments.uniform(0.02, 0.4))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        for path in (template.parent / "written").glob("*/*.json"):
            record = read_record(path)
            assert set(read_arrays(path, record)["number"]) == {record.loss_head[0]}
            seen += 1
    assert seen > 0


def test_a_record_can_be_written_again_after_a_kill(run: Run, make_record: MakeRecord) -> None:
    path = make_record(run)
    path.unlink()  # killed between the arrays and the JSON
    path.with_name(".seed0-left.json.x1y2").write_text("{")
    assert read_record(make_record(run)).run == run
