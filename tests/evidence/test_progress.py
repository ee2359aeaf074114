import time
from collections.abc import Iterable

import pytest

from maskprior.evidence.progress import training_progress

Step = tuple[float, int, int, float]


def log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], steps: Iterable[Step]) -> list[str]:
    """What a log file gets of these steps: seconds since the start, step, of how many, loss."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with training_progress("a/b/c/seed0") as report:
        for second, step, count, loss in steps:
            now = second
            report(step, count, loss)
    return capsys.readouterr().err.splitlines()


def test_a_log_file_gets_a_line_every_ten_seconds_with_loss_and_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second a step from step 10 at 0 s on: at step 30 of 100, 70 seconds are left."""
    assert log(monkeypatch, capsys, [(step - 10, step, 100, 1 / step) for step in range(10, 41)]) == [
        "a/b/c/seed0: step 20/100, loss 0.05, 80 s left",
        "a/b/c/seed0: step 30/100, loss 0.03333, 70 s left",
        "a/b/c/seed0: step 40/100, loss 0.025, 60 s left",
    ]


def test_the_evaluation_after_a_training_has_a_pace_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """1,000 s of training, then 100 pairs a second from pair 100 on: at pair 1,100 of 2,100, 10 seconds are left."""
    training: list[Step] = [(0, 1, 2, 1.0), (5, 2, 2, 1.0)]
    evaluation: list[Step] = [(999 + pairs / 100, pairs, 2100, 0.5) for pairs in range(100, 1101, 100)]
    assert log(monkeypatch, capsys, training + evaluation) == ["a/b/c/seed0: step 1100/2100, loss 0.5, 10 s left"]
