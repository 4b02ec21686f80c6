"""Programs that wait for each other take turns: each in a greenlet that switches when it waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import torch
from greenlet import greenlet
from torch import Tensor

from grader.backends.triton.device.faults import Deadlock
from grader.backends.triton.device.ttir.records import Operation
from grader.backends.triton.device.values import Value, whole


class Turns:
    """The schedule of a launch's programs, which take turns around in the order of their ids.

    A program's turn ends when a loop that may wait goes round. If in a whole round no program ends
    or leaves its loop, carries another value, or changes memory, none ever will.
    """

    def __init__(self, changes: Callable[[], int]) -> None:
        self._changes = changes
        self._scheduler = greenlet.getcurrent()
        self._progress = False
        self._waits: dict[Any, tuple[Operation, list[Value]]] = {}

    def wait(self, op: Operation, carried: Sequence[Value]) -> None:
        """End the turn of the program that runs, in the loop `op` with these values."""
        program = greenlet.getcurrent()
        before = self._waits.get(program)
        self._waits[program] = op, list(carried)
        if before is None or before[0] is not op or not equal(before[1], carried):
            self._progress = True
        self._scheduler.switch()

    def leave(self) -> None:
        """Note that the program that runs has left a loop in which it may have waited."""
        self._waits.pop(greenlet.getcurrent(), None)
        self._progress = True

    def run(self, programs: Sequence[Callable[[], object]], resident: int) -> None:
        """Execute programs until all have ended; raise Deadlock if they wait without end.

        At most `resident` take turns at a time: others start when one of these has ended.
        """
        later = deque(greenlet(program) for program in programs)
        now: list[greenlet] = []
        try:
            while later or now:
                while later and len(now) < resident:
                    now.append(later.popleft())
                self._progress, before = False, self._changes()
                for program in now:
                    program.switch()
                remaining = [program for program in now if not program.dead]
                ended = len(remaining) < len(now)
                now = remaining
                if now and not (ended or self._progress or self._changes() != before):
                    op, _ = self._waits[now[0]]
                    raise Deadlock(_sentence(len(now), len(later)), op.site)
        finally:
            for program in now:
                program.throw()


def _sentence(waiting: int, later: int) -> str:
    subject = "a program waits" if waiting == 1 else f"{waiting} programs wait"
    if later:
        return (
            f"{subject} in this loop, and {later} more of the launch cannot start before one ends: "
            "a GPU does not hold all of them at once"
        )
    return f"{subject} in this loop for a change that no program will make"


def equal(before: Sequence[Value], now: Sequence[Value]) -> bool:
    pairs = zip(map(whole, before), map(whole, now), strict=True)
    return all(
        isinstance(a, Tensor) and isinstance(b, Tensor) and torch.equal(a, b) for a, b in pairs
    )
