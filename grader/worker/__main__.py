"""The parent of all workers: imports the heavy libraries once, then forks a worker on request.

Started by `grader.sandbox` as `python -I -m grader.worker CONTROL_FD BACKEND DEVICE`. It never runs
a learner's code itself. When its worker ends, or when the judge goes away, it kills whatever the
worker left behind: it is the subreaper of its descendants, so that none can escape by forking.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
from pathlib import Path

from grader.worker import loop

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def main(argv: list[str]) -> None:
    control = socket.socket(fileno=int(argv[0]))
    backend, device = argv[1], argv[2]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # The judge decides when this process ends, by closing its socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    toolbox = loop.prepare(backend, device)
    control.sendall(b"ready\n")
    worker: int | None = None
    status: int | None = None
    while True:
        ready, _, _ = select.select([control.fileno(), woken], [], [])
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
            if worker is not None and status is None:
                status = _reap(worker)
        if control.fileno() not in ready:
            continue
        request, descriptors, _, _ = socket.recv_fds(control, 1, 4)
        if request == b"":
            _kill_descendants()
            return
        if request == b"f":
            worker, status = _fork(toolbox, descriptors, [control.fileno(), woken, waker]), None
            control.sendall(f"{worker}\n".encode())
        elif request == b"k":
            ended = _kill_descendants()
            if worker in ended:
                status = ended[worker]
            control.sendall(f"{status}\n".encode())


def _fork(toolbox: loop.Toolbox, descriptors: list[int], own: list[int]) -> int:
    """Start a worker; its descriptors are its socket, its output and the host arena, if any.

    `own` are this process's, which are no business of the worker's.
    """
    sock, output, *arena = descriptors
    pid = os.fork()
    if pid == 0:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            for descriptor in own:
                os.close(descriptor)
            os.setsid()
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
            loop.serve(toolbox, socket.socket(fileno=sock), arena[0] if arena else None)
        finally:
            os._exit(0)
    for descriptor in descriptors:
        os.close(descriptor)
    return pid


def _reap(worker: int) -> int | None:
    """The worker's wait status when it has ended; then nothing of it is left either."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == 0:
            return None
        if pid == worker:
            _kill_descendants()
            return status


def _kill_descendants() -> dict[int, int]:
    """Kill children until none is left, and return their wait statuses.

    The children of a killed one become ours, since we are their subreaper.
    """
    statuses: dict[int, int] = {}
    while True:
        for child in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return statuses
        statuses[pid] = status


def _children() -> list[int]:
    me, found = os.getpid(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                # After the name, which is in parentheses: state, then the parent's pid.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == me and fields[0] != "Z":
                    found.append(int(entry.name))
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
