"""A PID namespace for the fork server.

Its processes see, and can signal, no other process of the machine. When the fork server ends, Linux
ends them all.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import NoReturn

from grader.machine import processes
from grader.worker.linux import CLONE_NEWPID, MS_NODEV, MS_NOEXEC, MS_NOSUID, mount, own_mounts

KILLED = 128  # exit status of a process ended by signal n: 128 + n, as in shells


def enter_pid_namespace() -> bool:
    """Continue as the second process of a new PID namespace, with a /proc of its own.

    This process and the first one of the namespace only wait, and end as the second does. Linux
    ignores most signals to the first, so it could not report how it ended. Returns False where the
    machine allows no such namespace: this process then continues as it was.
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
    """Reap every process that ends, and exit with the second's status when that ends."""
    while True:
        pid, status = os.wait()
        if pid == second:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else KILLED - code)


def _own_proc() -> None:
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def _allowed() -> bool:
    """Report whether all of it works. A child tries it, because a process cannot go back."""
    return _child_succeeds(_try)


def _try() -> None:
    own_mounts(CLONE_NEWPID)
    if not _child_succeeds(_own_proc):
        raise OSError("no /proc for it")


def _child_succeeds(work: Callable[[], None]) -> bool:
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0
