"""Ordered parallel map over forked processes. Linux only."""

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
    """Yield `work(thing)` for each thing, in order; with a process per core if `worth_it`.

    The processes are forked off this one and share its memory. Only things, in batches of
    `at_once`, and results are sent between them. A fork beside other threads may hang: if this
    process has any, it does all the work itself.
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
