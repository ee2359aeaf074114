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
