"""Processes that run as a worker does: its environment, a private home, and no trace at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader import backends
from grader.machine import nvml, processes, remove_folder
from grader.model import CannotGrade, printable

# A worker sees these variables of the environment, and no others.
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", nvml.VISIBLE, "CUDA_HOME", "CUDA_PATH")
# A variable of the judge's: walls to leave out, on a machine that they break.
WITHOUT = "GRADER_WITHOUT_WALLS"
# Set in every process that starts workers: no worker may see it.
CANARY = "GRADER_CANARY"
START_S = 120.0  # seconds to import torch and other large libraries from a slow disk
MAX_OUTPUT = 4096  # bytes of a kernel's printed output that are stored

# Pids of all running fork servers and commands; one may end while another begins on a thread.
_running: set[int] = set()
_births = threading.Lock()


def environment(home: Path, *, simulated: bool = False) -> dict[str, str]:
    """Return all variables of a worker: what it may know, and what all backends set.

    A file that uses two libraries, as torch's compiler does, finds both as their own exercises do.
    """
    own = {
        "HOME": str(home),
        "TMPDIR": str(home),
        "TORCHINDUCTOR_CACHE_DIR": str(home / "inductor"),
        # A worker's user number has no name, and torch 2.11's compiler names a folder after it.
        "USER": "worker",
        "OMP_NUM_THREADS": "1",
        "LC_ALL": "C.UTF-8",
    }
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    for backend in backends.every():
        own |= backend.environment(home, simulated=simulated)
    return passed_on | own


def program(module: str, *arguments: str) -> list[str]:
    """Build the command for one of our modules, in a Python that takes nothing from outside."""
    return [sys.executable, "-I", "-m", module, *arguments]


def walls_left_out() -> str:
    return os.environ.get(WITHOUT, "")


@contextmanager
def private_home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="grader-worker-"))
    try:
        yield home
    finally:
        remove_home(home)


def remove_home(folder: Path) -> None:
    # The fork server may have removed it already; what cannot be removed must cost no result.
    with suppress(OSError):
        remove_folder(folder)


@dataclass(frozen=True)
class Done:
    """The end of a command: its exit status, or None after a timeout, and its last output."""

    status: int | None
    output: str


class Command:
    """One command that runs as a worker: its environment and its home; nothing of it is left.

    Its standard input ends with `finish`, so that a process can get ready before it has work.
    `variables` are added to the environment. Raises CannotGrade when it cannot start.
    """

    def __init__(self, argv: Sequence[str], home: Path, **variables: str) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        with ExitStack() as stack:
            self._output = stack.enter_context(tempfile.TemporaryFile())
            try:
                self._process = started(
                    argv,
                    cwd=home,
                    env=environment(home) | variables,
                    stdin=subprocess.PIPE,
                    stdout=self._output,
                    stderr=self._output,
                    start_new_session=True,
                )
            except OSError as error:
                raise CannotGrade(
                    f"{argv[0]} could not be started ({error}).", "Check its permissions."
                ) from None
            stack.callback(self._end)
            self._stack = stack.pop_all()

    def finish(self, limit_s: float) -> Done:
        """End its standard input, wait until it ends, and kill what is left of it."""
        assert self._process is not None
        assert self._process.stdin is not None
        status = None
        try:
            self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                status = self._process.wait(limit_s)
        finally:
            self._end()
        self._output.seek(max(0, os.fstat(self._output.fileno()).st_size - MAX_OUTPUT))
        return Done(status, printable(self._output.read().decode(errors="replace")))

    def close(self) -> None:
        """Kill the command if it still runs."""
        self._stack.close()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
        end_orphans_of(process)


def run_once(argv: Sequence[str], home: Path, limit_s: float, **variables: str) -> Done:
    """Run one command as `Command` does, to its end. Raises CannotGrade when it cannot start."""
    with closing(Command(argv, home, **variables)) as command:
        return command.finish(limit_s)


def started(argv: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    with _births:
        process = subprocess.Popen(argv, **options)
        _running.add(process.pid)
    return process


def end_orphans_of(process: subprocess.Popen[bytes]) -> None:
    """Kill the orphans of an ended process, if this process adopts orphans."""
    with _births:
        _running.discard(process.pid)
        if processes.adopts_orphans():
            processes.kill_children(spared=_running)
