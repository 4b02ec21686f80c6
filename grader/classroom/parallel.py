"""The same work for many things, in several processes where there is enough of it. Linux only."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def results(
    work: Callable[[Thing], Result],
    things: Sequence[Thing],
    *,
    worth_it: bool,
    at_once: int = 1,
) -> Iterator[Result]:
    """What `work` makes of each, in their order; with as many processes as cores, if `worth_it`.

    The processes are forked off this one, and so have all that the work needs without being sent
    it: only things, `at_once` so many, and results go from one to another. A fork beside other
    threads may hang, for which reason it is not done where there are any.
    """
    cores = len(os.sched_getaffinity(0))
    threads = len(os.listdir("/proc/self/task"))
    if not worth_it or cores == 1 or threads > 1:
        yield from map(work, things)
        return
    with ProcessPoolExecutor(
        cores,
        mp_context=multiprocessing.get_context("fork"),
        initializer=_start,
        initargs=(work,),
    ) as pool:
        yield from pool.map(_do, things, chunksize=at_once)


_work: Callable[[Any], Any]  # of a process of the pool


def _start(work: Callable[[Any], Any]) -> None:
    global _work
    _work = work


def _do(thing: Any) -> Any:
    return _work(thing)
