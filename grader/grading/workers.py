"""The workers that carry out one kernel file's calls, at most one for each device."""

from __future__ import annotations

from dataclasses import dataclass

from grader import backends
from grader.course import Exercise
from grader.grading.entries import held_everywhere
from grader.grading.options import CHECK_ARENA, Options
from grader.machine import environment
from grader.model import Environment, Wall, printable
from grader.sandbox import (
    ANSWERS,
    Arena,
    CudaArena,
    Executor,
    ForkServers,
    HostArena,
    Pretender,
    RemoteKernel,
    WorkerLink,
    entry_of,
    walls,
)


@dataclass(frozen=True)
class Bench:
    """A kernel file on one device: the memory, what carries calls out, and the callable."""

    arena: Arena
    executor: Executor
    remote: RemoteKernel


class Workers:
    """The workers of one kernel file. Each starts with its first use, and stays until `close`.

    `printed` is the output of the kernel file, complete after `close`.
    """

    def __init__(
        self, exercise: Exercise, kernel: bytes, options: Options, fork_servers: ForkServers
    ) -> None:
        self._exercise, self._kernel, self._options = exercise, kernel, options
        self._fork_servers = fork_servers
        self.benches: dict[str, Bench] = {}
        self._walls: dict[str, tuple[Wall, ...]] = {}
        self._environment: Environment | None = None
        self.printed = ""

    @property
    def environment(self) -> Environment:
        """The machine, as it was when the first worker on a GPU started."""
        return self._environment or environment(self._options.device)

    @property
    def walls(self) -> tuple[Wall, ...]:
        return held_everywhere(self._walls.values())

    def on(self, device: str) -> Bench:
        if device not in self.benches:
            self.benches[device] = self._start(device)
        return self.benches[device]

    def _start(self, device: str) -> Bench:
        spec = self._exercise.spec
        arena = (HostArena if device == "cpu" else CudaArena)(CHECK_ARENA)
        if device == "cuda":
            self._environment = environment(device)  # now, because the GPU may be lost later
            if backends.find(spec.backend).can.simulate:  # it imports while the first steps run
                self._fork_servers.fork_server(spec.backend, "cpu")
        executor: Executor
        if self._options.pretend is not None:
            executor = Pretender(spec, ANSWERS[self._options.pretend], arena)
        else:
            self._walls[device] = self._fork_servers.walls(self._exercise, device)
            if self._options.hardened:
                walls.require(self._walls[device])
            fork_server = self._fork_servers.fork_server(spec.backend, device)
            fork_server.clear_home()
            executor = WorkerLink(entry_of(spec), self._kernel, fork_server, arena)
        return Bench(arena, executor, RemoteKernel(spec, executor, arena))

    def renew(self, device: str) -> None:
        """End the worker on this device; the next call gets a new one."""
        if device in self.benches:
            self.benches[device].executor.close()

    def close(self) -> None:
        for bench in self.benches.values():
            self.printed = printable(self.printed + bench.executor.close())
            bench.arena.close()
        self.benches.clear()
