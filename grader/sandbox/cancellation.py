"""Cancel what a judge is grading, only where it can grade the next kernel file afterwards.

A KeyboardInterrupt at any place would leave modules half imported, and half a message on a line.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SIGNAL = signal.SIGUSR1

_asked = threading.Event()
_waits = False  # the main thread, for a worker


class Cancelled(KeyboardInterrupt):
    """Nobody wants the result any more."""


def listen() -> None:
    """Have SIGNAL cancel the work of this process from now on."""
    signal.signal(SIGNAL, _cancel)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {SIGNAL})  # judge_process blocked it


def begin() -> None:
    """Begin other work: only what comes from now on cancels it."""
    _asked.clear()


def check() -> None:
    """Raise Cancelled if the work was cancelled."""
    if _asked.is_set():
        raise Cancelled


@contextmanager
def waiting() -> Iterator[None]:
    """Raise Cancelled as `check` does, and in the main thread as soon as the work is cancelled."""
    global _waits
    check()
    if threading.current_thread() is not threading.main_thread():  # no signal arrives there
        yield
        return
    _waits = True
    try:
        check()  # the signal may have come between the other one and here
        yield
    finally:
        _waits = False


def _cancel(*_: object) -> None:
    global _waits
    _asked.set()
    if _waits:
        _waits = False
        raise Cancelled
