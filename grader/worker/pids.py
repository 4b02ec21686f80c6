"""Put the parent of all workers into a PID namespace of its own.

What it starts sees, and can signal, none of the machine's other processes; and when it ends, Linux
ends them all.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import NoReturn

from grader.machine import processes
from grader.worker.linux import CLONE_NEWPID, MS_NODEV, MS_NOEXEC, MS_NOSUID, mount, own_mounts

KILLED = 128  # and the number of a signal: how a process tells that one ended it, as shells do


def go_on_inside() -> bool:
    """Go on as the second process of a new PID namespace, with a /proc of its own.

    This process and the first one of the namespace only wait, and end as the second does; for the
    first Linux ignores most signals, so that nothing could tell how it ended. False where the
    machine allows no such namespace: this process then goes on as it was.
    """
    if not _allowed():
        return False
    own_mounts(CLONE_NEWPID)
    if first := os.fork():
        code = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
        if code > KILLED:
            os.kill(os.getpid(), code - KILLED)
        os._exit(abs(code))
    processes.die_with_parent(signal.SIGKILL)
    _own_proc()
    if second := os.fork():
        _outlive(second)
    return True


def _outlive(second: int) -> NoReturn:
    """Take leave of whatever ends, and of this process with the second."""
    while True:
        pid, status = os.wait()
        if pid == second:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else KILLED - code)


def _own_proc() -> None:
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def _allowed() -> bool:
    """Whether all of it works: tried in a child, for a process cannot go back."""
    return _gets_through(_try)


def _try() -> None:
    own_mounts(CLONE_NEWPID)
    if not _gets_through(_own_proc):
        raise OSError("no /proc for it")


def _gets_through(work: Callable[[], None]) -> bool:
    """Whether a child does this work, and nothing goes wrong."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0
