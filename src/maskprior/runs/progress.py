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
    """A function of (step, steps, loss) that shows how far a training is and how long it still takes."""
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
        task = bar.add_task(title, total=None, loss=float("nan"))
        yield lambda step, steps, loss: bar.update(task, completed=step, total=steps, loss=loss)


class _Lines:
    """One line every ten seconds, for log files."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.first: tuple[float, int] | None = None
        self.printed = time.monotonic()

    def __call__(self, step: int, steps: int, loss: float) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first = (now, step)
        if now - self.printed < SECONDS_BETWEEN_LINES:
            return
        self.printed = now
        since, from_step = self.first
        left = (now - since) / max(step - from_step, 1) * (steps - step)
        print(f"{self.title}: step {step}/{steps}, loss {loss:.4g}, {left:.0f} s left", file=sys.stderr, flush=True)
