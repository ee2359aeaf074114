"""The progress of a training for people: a bar on a terminal, else a line every ten seconds. Written to stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 10.0

Report = Callable[[int, int, float], None]


@contextmanager
def training_progress(title: str) -> Iterator[Report]:
    """A function of (step, steps, loss) that shows how far a training is and how long it still takes.

    An evaluation after it counts anew, at a pace of its own.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(title)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.4g}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        yield _Bar(bar, title)


class _Bar:
    """A bar on a terminal."""

    def __init__(self, bar: Progress, title: str) -> None:
        self.bar = bar
        self.task = bar.add_task(title, total=None, loss=float("nan"))
        self.at = (0, 0)

    def __call__(self, step: int, steps: int, loss: float) -> None:
        if _anew(self.at, step, steps):
            self.bar.reset(self.task)
        self.at = (step, steps)
        self.bar.update(self.task, completed=step, total=steps, loss=loss)


class _Lines:
    """One line every ten seconds, for log files."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.at = (0, 0)

    def __call__(self, step: int, steps: int, loss: float) -> None:
        now = time.monotonic()
        if _anew(self.at, step, steps):
            self.began, self.from_step, self.printed = now, step, now
        self.at = (step, steps)
        if now - self.printed < SECONDS_BETWEEN_LINES:
            return
        self.printed = now
        left = (now - self.began) / max(step - self.from_step, 1) * (steps - step)
        print(f"{self.title}: step {step}/{steps}, loss {loss:.4g}, {left:.0f} s left", file=sys.stderr, flush=True)


def _anew(before: tuple[int, int], step: int, steps: int) -> bool:
    """Whether this is the first step of a training or of an evaluation."""
    return steps != before[1] or step < before[0]
