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

FIRST = -15  # of the nice values, which go from -20 to 19; 0 is usual


def adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own, however it was forked."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def adopts_orphans() -> bool:
    answer = ctypes.c_int(0)
    ctypes.CDLL(None).prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
    return bool(answer.value)


def die_with_parent(number: signal.Signals) -> None:
    """Have this signal sent to this process when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def come_first() -> None:
    """Run before other programs of this machine, and so does what is started from here.

    Only root may ask for it: without, whatever else computes here delays this process as ever.
    """
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, FIRST)


def kill_children(spared: Collection[int] = ()) -> dict[int, int]:
    """Kill children until only those spared are left; returns the wait statuses of the others.

    In a process that adopts orphans, the children of a killed one are its next.
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
    """The children of this process, those included that have ended and wait to be asked how."""
    return [child for child, parent in _parents().items() if parent == os.getpid()]


def descendants() -> set[int]:
    """Children, their children, and so on."""
    parents, found, latest = _parents(), set[int](), {os.getpid()}
    while latest:
        latest = {child for child, parent in parents.items() if parent in latest} - found
        found |= latest
    return found


def stop_descendants(limit_s: float) -> set[int] | None:
    """Stop all processes below this one; which these are, or None when one goes on running.

    Each is told again until two looks in a row find no thread of any that could run: one that was
    about to wake another would show in the second.
    """
    deadline, quiet = time.monotonic() + limit_s, 0
    while quiet < 2:
        found = descendants()
        _send(found, signal.SIGSTOP)
        quiet = quiet + 1 if not any(map(_may_run, found)) else 0
        if time.monotonic() > deadline:
            return None
        time.sleep(0.0005)
    return found


def go_on(stopped: Collection[int]) -> None:
    """Let processes that were stopped run again."""
    _send(stopped, signal.SIGCONT)


def _send(pids: Collection[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _may_run(pid: int) -> bool:
    """Whether a thread of a process runs, or could be woken: see proc_pid_stat(5) for the letters.

    One in an uninterruptible call (D) meets the signal before it runs any code of its own again.
    """
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(OSError, IndexError):
            if stat.read_text().rpartition(")")[2].split()[0] in "RSI":
                return True
    return False


def _parents() -> dict[int, int]:
    """The parent of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                # After the name, which is in parentheses: state, then the parent's pid.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                found[int(entry.name)] = int(fields[1])
    return found
