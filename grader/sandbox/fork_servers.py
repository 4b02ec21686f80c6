"""The fork servers that all kernels of one judge share."""

from __future__ import annotations

from pathlib import Path

from grader.course import Exercise
from grader.model import Wall
from grader.sandbox import walls
from grader.sandbox.fork_server import ForkServer


class ForkServers:
    """At most one fork server for each backend and device, and one more for reference kernels.

    The second is needed because a fork server has one worker at a time.
    """

    def __init__(self) -> None:
        self._servers: dict[tuple[str, str, bool], ForkServer] = {}
        self._walls: dict[tuple[Path, str, str], tuple[Wall, ...]] = {}

    def fork_server(self, backend: str, device: str, *, reference: bool = False) -> ForkServer:
        key = (backend, device, reference)
        if key not in self._servers:
            self._servers[key] = ForkServer(backend, device)
            self._servers[key].start()
        return self._servers[key]

    def walls(self, exercise: Exercise, device: str) -> tuple[Wall, ...]:
        """Try the walls around this exercise's kernel files, once for each backend and device.

        Raises CannotGrade when they cannot be tried.
        """
        key = (exercise.folder, exercise.spec.backend, device)
        if key not in self._walls:
            fork_server = self.fork_server(exercise.spec.backend, device)
            fork_server.clear_home()  # of files that another exercise's kernel left there
            self._walls[key] = walls.try_all(fork_server, exercise)
        return self._walls[key]

    def adopt(self, fork_server: ForkServer) -> None:
        self._servers[fork_server.backend, fork_server.device, False] = fork_server

    def close(self) -> None:
        for fork_server in self._servers.values():
            fork_server.close()
        self._servers.clear()
