"""Let the parent of all workers be the first process of a PID namespace.

What it starts sees, and can signal, no process but those below it; and when it ends, Linux ends
them all.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import NoReturn

from grader import processes
from grader.worker.linux import CLONE_NEWPID, MS_NODEV, MS_NOEXEC, MS_NOSUID, mount, own_mounts


def go_on_inside() -> bool:
    """Go on in a child of this process, in a new PID namespace with a /proc of its own.

    This process only waits for the child, and ends as it ends. False where the machine allows no
    such namespace: this process then goes on as it was. Threads do not go along.
    """
    if not _allowed():
        return False
    own_mounts(CLONE_NEWPID)
    child = os.fork()
    if child:
        _end_as(os.waitpid(child, 0)[1])
    processes.die_with_parent(signal.SIGKILL)
    _own_proc()
    return True


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


def _end_as(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) % 256)
