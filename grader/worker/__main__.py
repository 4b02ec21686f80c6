"""The parent of all workers: imports the heavy libraries once, then forks a worker on request.

Started by `grader.sandbox.fork_server` as `python -I -m grader.worker CONTROL_FD BACKEND DEVICE
HOME WITHOUT`. BACKEND is a backend's folder. HOME lies in a folder that is removed with the parent.
WITHOUT names walls to leave out, separated by commas. The parent never runs a learner's code
itself. When its worker ends, or when the judge goes away, it kills every process that the worker
left behind: it adopts its descendants' orphans, so none can escape by forking.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import socket
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from grader.machine import processes, remove_folder
from grader.model import CannotGrade, quoted
from grader.worker import confine, loop, pids
from grader.worker.worker_home import UNUSED_USERS, Place

STOP_S = 1.0  # seconds for all processes of a worker to stop; it takes a millisecond
PATIENCE_S = 1.0  # seconds for a worker that hung up to end by itself


def main(argv: list[str]) -> None:
    control = socket.socket(fileno=int(argv[0]))
    backend, device, home, walls = argv[1:]
    without = [name.strip() for name in walls.split(",") if name.strip()]
    if unknown := sorted(set(without).difference(confine.NAMES)):
        _send(control, refused=_unknown_walls(unknown))
        return
    if "pids" not in without:
        pids.enter_pid_namespace()
    processes.adopt_orphans()
    # The judge decides when this process ends, by closing its socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        try:
            toolbox = loop.prepare(Path(backend), device)
        except CannotGrade as error:
            _send(control, refused=[error.message, error.next_step])
            return
        # The judge may have ended by now, or may end during an answer.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            place = Place(Path(home), device, random.choice(UNUSED_USERS))
            _obey(control, toolbox, _Walls(place, without))
    finally:
        processes.kill_children()
        with contextlib.suppress(OSError):
            remove_folder(Path(home).parent)


def _unknown_walls(names: list[str]) -> list[str]:
    return [
        f"GRADER_WITHOUT_WALLS names what is no wall: {', '.join(map(quoted, names))}.",
        f"Unset it, or name walls to leave out: {', '.join(confine.NAMES)}.",
    ]


@dataclass(frozen=True)
class _Walls:
    """The walls to build around each worker."""

    place: Place
    without: list[str]

    def build(self) -> None:
        # The last kernel may have removed the folder, which must be there to be allowed.
        self.place.home.mkdir(mode=0o700, exist_ok=True)
        impossible = confine.IMPOSSIBLE[self.place.device]
        confine.build(self.place, impossible.union(self.without))


def _obey(control: socket.socket, toolbox: loop.Toolbox, walls: _Walls) -> None:
    """Fork a worker for each `f`; end it at each `k`, and at a `w` after it had time to end itself.

    Answers with the worker's pid, or with its wait status, which is None if it had to be killed. At
    an `s`, stops the worker and every process that it started, and answers whether all were seen
    stopped. At a `c`, lets them run again, without an answer.
    """
    woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    own = [control.fileno(), woken, waker]
    _send(control, notes=list(toolbox.notes))
    worker: int | None = None
    status: int | None = None
    stopped: set[int] | None = None
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
            return
        if request == b"f":
            worker, status = _fork(toolbox, walls, descriptors, own), None
            control.sendall(f"{worker}\n".encode())
        elif request in (b"k", b"w"):
            if request == b"w" and worker is not None and status is None:
                status = _wait(worker)
            processes.kill_children()
            control.sendall(f"{status}\n".encode())
        elif request == b"s":
            stopped = processes.stop_descendants(STOP_S)
            control.sendall(b"running\n" if stopped is None else b"stopped\n")
        elif request == b"c":
            processes.resume(stopped or ())


def _send(control: socket.socket, **message: list[str]) -> None:
    control.sendall(json.dumps(message).encode() + b"\n")


def _fork(toolbox: loop.Toolbox, walls: _Walls, descriptors: list[int], own: list[int]) -> int:
    """Start a worker; its descriptors are its socket, its output and the host arena, if any.

    `own` are this process's descriptors, which the worker closes.
    """
    sock, output, *arena = descriptors
    pid = os.fork()
    if pid == 0:
        try:
            processes.die_with_parent(signal.SIGKILL)
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
            walls.build()
            loop.serve(toolbox, socket.socket(fileno=sock), arena[0] if arena else None)
            os._exit(os.EX_PROTOCOL)  # the line to the judge is closed
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(1)
    for descriptor in descriptors:
        os.close(descriptor)
    return pid


def _reap(worker: int) -> int | None:
    """Return the worker's wait status once it has ended; then kill all that is left of it."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == 0:
            return None
        if pid == worker:
            processes.kill_children()
            return status


def _wait(worker: int) -> int | None:
    deadline = time.monotonic() + PATIENCE_S  # for it to end by itself
    while (status := _reap(worker)) is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return status


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # taking the interpreter with torch in it apart would take two seconds
