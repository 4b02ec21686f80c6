"""Fork a worker and, beside it, the simulated device that carries out its launches."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass

from grader.machine import processes
from grader.model import Channel
from grader.worker import confine, loop
from grader.worker.device_link import linked, scratch_memory
from grader.worker.linux import LIBC, PR_SET_DUMPABLE, must
from grader.worker.toolbox import Toolbox
from grader.worker.worker_home import Place

PATIENCE_S = 1.0  # seconds for a worker that hung up to end by itself


@dataclass(frozen=True)
class Walls:
    """The walls to build around each process of one sort."""

    place: Place
    without: Collection[str]

    def build(self) -> None:
        # The last kernel may have removed the folder, which must be there to be allowed.
        self.place.home.mkdir(mode=0o700, exist_ok=True)
        impossible = confine.IMPOSSIBLE[self.place.device]
        confine.build(self.place, impossible.union(self.without))


@dataclass
class Pair:
    """A worker and its device, if it has one; `status` is there when the worker ended by itself."""

    worker: int
    device: int | None = None
    status: int | None = None

    def reap(self) -> None:
        """Take note of the worker's end, and kill all that is left of it."""
        while self.status is None:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.worker:
                self.status = status
                # The judge still asks the device what it saw.
                processes.kill_children(spared=() if self.device is None else (self.device,))

    def wait(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while self.status is None and time.monotonic() < deadline:
            self.reap()
            if self.status is None:
                time.sleep(0.01)


@dataclass(frozen=True)
class Forks:
    """The means to fork workers; `own` are this process's descriptors, which no child keeps."""

    toolbox: Toolbox
    walls: Walls
    device_walls: Walls
    own: tuple[int, ...]

    def start(self, descriptors: list[int]) -> Pair:
        """Start a worker, and its device where both get memory.

        The descriptors are the worker's socket and output; the device's socket, if the toolbox has
        a device and there is an arena; and the arena, if there is one.
        """
        sock, output, *rest = descriptors
        if self.toolbox.serve_device is not None and rest:
            pair = self._start_both(sock, output, *rest)
        else:
            arena = rest[0] if rest else None
            pair = Pair(self._fork(lambda: self._work(sock, output, arena), own=self.own))
        for descriptor in descriptors:
            os.close(descriptor)
        return pair

    def _start_both(self, sock: int, output: int, judge: int, arena: int) -> Pair:
        scratch = scratch_memory()
        workers, devices = socket.socketpair()
        with workers, devices:
            device = self._fork(
                lambda: self._simulate(judge, devices, arena, scratch),
                own=(*self.own, sock, output, workers.fileno()),
            )
            worker = self._fork(
                lambda: self._work(sock, output, arena, workers, scratch),
                own=(*self.own, judge, devices.fileno()),
            )
        os.close(scratch)
        return Pair(worker, device)

    def _fork(self, work: Callable[[], None], own: Collection[int]) -> int:
        pid = os.fork()
        if pid:
            return pid
        try:
            processes.die_with_parent(signal.SIGKILL)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            for descriptor in own:
                os.close(descriptor)
            os.setsid()
            work()
            os._exit(os.EX_PROTOCOL)  # the line to the judge is closed
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(1)

    def _work(
        self,
        sock: int,
        output: int,
        arena: int | None,
        device: socket.socket | None = None,
        scratch: int = -1,
    ) -> None:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        self.walls.build()
        link = None if device is None else linked(device, scratch)
        loop.serve(self.toolbox, socket.socket(fileno=sock), arena, link)

    def _simulate(self, judge: int, worker: socket.socket, arena: int, scratch: int) -> None:
        """Carry out launches; what goes wrong is printed into the log of this process's parent."""
        self.device_walls.build()
        loop.limit_resources(simulated=True)
        # A worker may be the same user: no process but root's may look into this one.
        must(LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        assert self.toolbox.serve_device is not None
        link = linked(worker, scratch)
        self.toolbox.serve_device(
            Channel(socket.socket(fileno=judge)), link.channel, arena, scratch
        )
