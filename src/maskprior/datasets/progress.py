"""A progress bar for each file that is being downloaded."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bars

from maskprior.datasets.acquire import Watch
from maskprior.datasets.download import Progress


@contextmanager
def bars() -> Iterator[Watch]:
    """Gives a function from a file's name to the function that moves its bar; drawn on stderr if that is a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Bars(*columns, console=console, disable=not console.is_terminal) as shown:

        def watch(file: str) -> Progress:
            task = shown.add_task(file, total=None)
            return lambda done, total: shown.update(task, completed=done, total=total)

        yield watch
