"""One core of the processor for all processes below this one: what slows one of them slows all.

Linux only.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.machine import processes
from grader.model import CannotGrade

TRIED = 16  # cores, drawn anew: judges that begin together rarely take the same one
TURNS, STEPS = 3, 10_000  # of the loop that shows a core's speed; a turn takes half a millisecond


@contextmanager
def one_core() -> Iterator[Callable[[], None]]:
    """Choose a quiet core; give the function that moves the processes below this one there.

    Call it again when there are new ones. At the end they may run on each core again. Raises
    CannotGrade where one cannot be moved.
    """
    every = os.sched_getaffinity(0)
    core = _quietest(every)
    try:
        yield lambda: _keep_to({core})
    finally:
        _keep_to(every)


def _quietest(cores: Collection[int]) -> int:
    """Return the core where a loop of Python takes the least time, of a few that are drawn."""
    drawn = random.sample(sorted(cores), min(TRIED, len(cores)))
    try:
        return min(drawn, key=_seconds_on)
    finally:
        os.sched_setaffinity(0, cores)


def _seconds_on(core: int) -> float:
    os.sched_setaffinity(0, {core})
    return min(_seconds() for _ in range(TURNS))


def _seconds() -> float:
    began = time.perf_counter()
    for _ in range(STEPS):
        pass
    return time.perf_counter() - began


def _keep_to(cores: Collection[int]) -> None:
    for pid in processes.descendants():
        for thread in _threads(pid):
            try:
                os.sched_setaffinity(thread, cores)
            except ProcessLookupError:
                continue  # it ended meanwhile, and needs no core
            except OSError as error:
                raise CannotGrade(
                    f"The judge may not choose the core of a worker: {error.strerror}.",
                    "Let it: in a container with `--cap-add SYS_NICE`, or not as root.",
                ) from None


def _threads(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    return []
