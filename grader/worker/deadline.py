"""A time limit for a learner's call that the worker sets itself, so that it can report on it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

AGAIN_S = 1.0


class OutOfTime(BaseException):
    """A call took too long. Not an Exception: a file that retries what fails must not catch it."""


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the main thread after this time, at its next Python instruction.

    Python ignores what is raised in a finaliser, which may be running then: it is raised again.
    """

    def stop(*_: object) -> None:
        raise OutOfTime(f"one call took longer than {seconds:g} s and was stopped")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
