"""The same function for many runs, in order, in this process or in several."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(function: Callable[[Item], Result], items: Iterable[Item], *, jobs: int) -> Iterator[Result]:
    """function(item) for every item. With `jobs` > 1 in new processes, which inherit the environment variables."""
    if jobs == 1:
        yield from map(function, items)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, items)
