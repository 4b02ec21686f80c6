"""The same work for many things, in several processes where there is enough of it. Linux only."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

AT_ONCE = 8  # texts that a process is asked for at a time


def texts(makers: Sequence[Callable[[], str]], *, worth_it: bool) -> Iterator[str]:
    """What each gives, in their order, made by as many processes as there are cores, if `worth_it`.

    The processes are forked off this one, and so have all that the makers need without being sent
    it. A fork beside other threads may hang, for which reason it is not done where there are any.
    """
    cores = len(os.sched_getaffinity(0))
    threads = len(os.listdir("/proc/self/task"))
    if not worth_it or cores == 1 or threads > 1:
        yield from (make() for make in makers)
        return
    with ProcessPoolExecutor(
        cores,
        mp_context=multiprocessing.get_context("fork"),
        initializer=_start,
        initargs=(makers,),
    ) as pool:
        yield from pool.map(_make, range(len(makers)), chunksize=AT_ONCE)


_makers: Sequence[Callable[[], str]]  # of a process of the pool


def _start(makers: Sequence[Callable[[], str]]) -> None:
    global _makers
    _makers = makers


def _make(number: int) -> str:
    return _makers[number]()
