"""One process a run: a second one that is asked to train the same run waits for the first."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from maskprior.runs.spec import Run
from maskprior.runs.store import checkpoint_path


@contextmanager
def only_process(run: Run, tell: Callable[[], None]) -> Iterator[None]:
    """Hold the run's lock, which lies beside its checkpoint; `tell` is called before a wait.

    The lock is the kernel's: it ends with the process that holds it, however that process ends.
    """
    path = checkpoint_path(run).with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        tell()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
