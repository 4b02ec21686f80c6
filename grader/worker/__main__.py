"""The fork server: imports the heavy libraries once, then forks a worker on request.

If a backend simulates kernels in a process of their own, the fork server forks such a device beside
each worker. `grader.sandbox.fork_server` starts it as `python -I -m grader.worker CONTROL_FD
BACKEND DEVICE HOME WITHOUT`. BACKEND is a backend's folder. HOME lies in a folder that is removed
with the fork server. WITHOUT names walls to leave out, separated by commas. The fork server never
runs a learner's code itself. When its worker ends, or when the judge goes away, it kills every
process that the worker left behind: it adopts its descendants' orphans, so none can escape by
forking.
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
import tempfile
from pathlib import Path

from grader.machine import processes, remove_folder
from grader.model import CannotGrade, quoted
from grader.worker import confine, pids
from grader.worker.forks import Forks, Pair, Walls
from grader.worker.toolbox import Toolbox, prepare
from grader.worker.worker_home import UNUSED_USERS, Place

STOP_S = 1.0  # seconds for all processes of a worker to stop; it takes a millisecond


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
    # Python would try by a file whether it can write there. If the judge clears the home just then,
    # Python takes /tmp for good, which is closed to workers.
    tempfile.tempdir = home
    # The judge decides when this process ends, by closing its socket.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        try:
            toolbox = prepare(Path(backend), device)
        except CannotGrade as error:
            _send(control, refused=[error.message, error.next_step])
            return
        # The judge may have ended by now, or may end during an answer.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            users = random.sample(UNUSED_USERS, 2)
            homes = (Path(home), Path(home).with_name("device"))
            places = (Place(home, device, user) for home, user in zip(homes, users, strict=True))
            _obey(control, toolbox, *(Walls(place, without) for place in places))
    finally:
        processes.kill_children()
        with contextlib.suppress(OSError):
            remove_folder(Path(home).parent)


def _unknown_walls(names: list[str]) -> list[str]:
    return [
        f"GRADER_WITHOUT_WALLS names what is no wall: {', '.join(map(quoted, names))}.",
        f"Unset it, or name walls to leave out: {', '.join(confine.NAMES)}.",
    ]


def _obey(control: socket.socket, toolbox: Toolbox, walls: Walls, device_walls: Walls) -> None:
    """Fork a worker for each `f`; end it at each `k`, and at a `w` after it had time to end itself.

    Answers with the worker's pid, or with its wait status, which is None if it had to be killed. At
    an `s`, stops the worker and every process that it started, and answers whether all were seen
    stopped. At a `c`, lets them run again, without an answer. A device is forked, killed, stopped
    and resumed with its worker.
    """
    woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    forks = Forks(toolbox, walls, device_walls, (control.fileno(), woken, waker))
    _send(control, notes=list(toolbox.notes))
    pair: Pair | None = None
    stopped: set[int] | None = None
    while True:
        ready, _, _ = select.select([control.fileno(), woken], [], [])
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
            if pair is not None:
                pair.reap()
        if control.fileno() not in ready:
            continue
        request, descriptors, _, _ = socket.recv_fds(control, 1, 4)
        if request == b"":
            return
        if request == b"f":
            pair = forks.start(descriptors)
            control.sendall(f"{pair.worker}\n".encode())
        elif request in (b"k", b"w"):
            if request == b"w" and pair is not None:
                pair.wait()
            processes.kill_children()
            control.sendall(f"{pair.status if pair else None}\n".encode())
        elif request == b"s":
            stopped = processes.stop_descendants(STOP_S)
            control.sendall(b"running\n" if stopped is None else b"stopped\n")
        elif request == b"c":
            processes.resume(stopped or ())


def _send(control: socket.socket, **message: list[str]) -> None:
    control.sendall(json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # taking the interpreter with torch in it apart would take two seconds
