"""The processes below this one: none may outlive it, whatever it does to hide. Linux only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

# linux/prctl.h
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PR_GET_CHILD_SUBREAPER = 37

# malloc.h
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3

HIGH_PRIORITY = -15  # a nice value: they go from -20 (first) to 19, and 0 is usual


def adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own, however it was forked."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def adopts_orphans() -> bool:
    adopts = ctypes.c_int(0)
    ctypes.CDLL(None).prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(adopts), 0, 0, 0)
    return bool(adopts.value)


def die_with_parent(number: signal.Signals) -> None:
    """Ask the kernel to send this signal to this process when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def raise_priority() -> None:
    """Raise the priority of this process, and of those that it starts, above other programs.

    Only root may do so; without root the priority stays as it is.
    """
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, HIGH_PRIORITY)


def kill_children(spared: Collection[int] = ()) -> dict[int, int]:
    """Kill all children but those spared; return the wait statuses of the killed.

    A process that adopts orphans inherits the children of a killed child; it kills them, too.
    """
    statuses: dict[int, int] = {}
    while doomed := [child for child in children() if child not in spared]:
        for child in doomed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for child in doomed:
            with contextlib.suppress(ChildProcessError):
                statuses[child] = os.waitpid(child, 0)[1]
    return statuses


def children() -> list[int]:
    """List this process's children, including those that have ended but were not waited for."""
    return [child for child, parent in _parents().items() if parent == os.getpid()]


def descendants() -> set[int]:
    parents, below, latest = _parents(), set[int](), {os.getpid()}
    while latest:
        latest = {child for child, parent in parents.items() if parent in latest} - below
        below |= latest
    return below


def stop_descendants(limit_s: float) -> set[int] | None:
    """Stop all processes below this one; return their numbers, or None when one keeps running.

    Each gets the signal again until two scans in a row find no thread that could run: a thread that
    was about to wake another would show in the second.
    """
    deadline, quiet = time.monotonic() + limit_s, 0
    while quiet < 2:
        stopped = descendants()
        _send(stopped, signal.SIGSTOP)
        quiet = quiet + 1 if not any(map(_may_run, stopped)) else 0
        if time.monotonic() > deadline:
            return None
        time.sleep(0.0005)
    return stopped


def resume(stopped: Collection[int]) -> None:
    _send(stopped, signal.SIGCONT)


def _send(pids: Collection[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _may_run(pid: int) -> bool:
    """Report whether a thread of a process runs or could be woken (letters: proc_pid_stat(5)).

    A thread in an uninterruptible call (D) meets the signal before it runs its own code again.
    """
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError, IndexError):
            if stat.read_text().rpartition(")")[2].split()[0] in "RSI":
                return True
    return False


def _parents() -> dict[int, int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                # After the name, which is in parentheses: state, then the parent's pid.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
    return parents


def keep_freed_memory(most: int) -> None:
    """Have the C library keep up to `most` bytes that arrays leave: new pages must be zeroed.

    Both limits are needed, as setting one ends the automatic choice of both.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 32 << 20)  # the most that glibc takes
        mallopt(M_TRIM_THRESHOLD, most)
