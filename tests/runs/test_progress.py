import time

import pytest

from maskprior.runs.progress import training_progress


def test_a_log_file_gets_a_line_every_ten_seconds_with_loss_and_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second a step from step 10 at 0 s on: at step 30 of 100, 70 seconds are left."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with training_progress("a/b/c/seed0") as report:
        for step in range(10, 41):
            now = float(step - 10)
            report(step, 100, 1.0 / step)
    assert capsys.readouterr().err.splitlines() == [
        "a/b/c/seed0: step 20/100, loss 0.05, 80 s left",
        "a/b/c/seed0: step 30/100, loss 0.03333, 70 s left",
        "a/b/c/seed0: step 40/100, loss 0.025, 60 s left",
    ]


def test_the_evaluation_after_a_training_has_a_pace_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """1,000 s of training, then 100 pairs a second from pair 100 on: at pair 1,100 of 2,100, 10 seconds are left."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with training_progress("a/b/c/seed0") as report:
        report(1, 2, 1.0)
        report(2, 2, 1.0)
        for pairs in range(100, 1101, 100):
            now = 999.0 + pairs / 100
            report(pairs, 2100, 0.5)
    assert capsys.readouterr().err.splitlines() == [
        "a/b/c/seed0: step 1100/2100, loss 0.5, 10 s left",
    ]
