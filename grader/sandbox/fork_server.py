"""Start and stop workers: the process wall between the judge and a learner's code.

One `ForkServer` keeps one parent process with the heavy libraries imported; each worker is a fork
of
it, so that a new one after a crash costs milliseconds. When a worker ends, or the judge does, the
parent kills all that the worker started.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from grader import backends
from grader.machine import processes
from grader.model import CannotGrade, Channel, printable

# What a worker may know of the environment; everything else stays outside.
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_PATH")
# A variable of the judge's: walls that must not be built, for a machine that they break.
WITHOUT = "GRADER_WITHOUT_WALLS"
# Set in every process that starts workers: no worker may see it.
CANARY = "GRADER_CANARY"
START_S = 120.0  # seconds for importing torch and its kin on a slow disk
END_S = 10.0
KEPT_OUTPUT = 4096  # bytes of what a kernel prints

_parents: set[int] = set()  # the pids of all fork_servers that run


class NoWorker(CannotGrade):
    """The parent of all workers could not start, or has ended."""


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
    """The command that runs one of our modules in a Python that takes nothing from outside."""
    return [sys.executable, "-I", "-m", module, *arguments]


@contextmanager
def private_home() -> Iterator[Path]:
    """A new empty folder for one worker, removed at the end."""
    home = Path(tempfile.mkdtemp(prefix="grader-worker-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit status, or None after too long, and what it printed last."""

    status: int | None
    output: str


def run_once(argv: Sequence[str], home: Path, limit_s: float, **variables: str) -> Done:
    """Run one command as a worker: its environment, its home, nothing of it left at the end.

    `variables` are added to the environment. Raises CannotGrade when it cannot be started.
    """
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                argv,
                cwd=home,
                env=environment(home) | variables,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotGrade(
                f"{argv[0]} could not be started ({error}).", "See its permissions."
            ) from None
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if processes.adopts_orphans():
                processes.kill_children(spared=_parents)
        said.seek(max(0, os.fstat(said.fileno()).st_size - KEPT_OUTPUT))
        return Done(status, printable(said.read().decode(errors="replace")))


class ForkServer:
    """The parent of all workers of one backend on one device ("cpu", "cuda").

    Raises NoWorker when it cannot start, and CannotGrade for a backend that only runs on a GPU.
    """

    def __init__(self, backend: str, device: str) -> None:
        self.backend, self.device = backend, device
        self._folder: Path | None = None
        self._kernel = b""
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False

    def start(self) -> None:
        """Begin the imports without waiting for them."""
        simulated = self.device == "cpu"
        backend = backends.find(self.backend)
        if simulated and not backend.can.simulate:
            raise CannotGrade(
                f"Kernels in {backend.title} cannot be simulated.",
                "Grade them on a machine with a GPU.",
            )
        if not simulated and backend.compiled is None:
            raise CannotGrade(
                f"Kernels in {backend.title} cannot run on a GPU.", "Grade them with --device cpu."
            )
        os.environ[CANARY] = "1"
        self._folder = Path(tempfile.mkdtemp(prefix="grader-worker-"))
        # A worker that is another user comes through to its home, and cannot replace it.
        self._folder.chmod(0o711)
        self._home.mkdir(mode=0o700)
        ours, theirs = socket.socketpair()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed in close()
        self._process = subprocess.Popen(
            program(
                "grader.worker",
                *(str(theirs.fileno()), str(backends.folder(self.backend))),
                *(self.device, str(self._home)),
                os.environ.get(WITHOUT, ""),
            ),
            cwd=self._home,
            env=environment(self._home, simulated=simulated),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,  # a Ctrl-C in the terminal is the judge's to handle
        )
        _parents.add(self._process.pid)
        theirs.close()
        self._control = ours
        self._ready = False

    @property
    def _home(self) -> Path:
        """What the workers may write to; it goes when the fork_server is closed."""
        assert self._folder is not None
        return self._folder / "home"

    def fork(self, arena_fd: int | None) -> Worker:
        """A new worker. Restarts the parent if something killed it."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self.start()
        assert self._control is not None
        if not self._ready:
            self._expect(START_S)
            self._ready = True
        sock, their_sock = socket.socketpair()
        output, their_output = os.pipe()
        handed = [their_sock.fileno(), their_output]
        handed += [] if arena_fd is None else [arena_fd]
        try:
            socket.send_fds(self._control, [b"f"], handed)
            self._expect(END_S)
        finally:
            their_sock.close()
            os.close(their_output)
        return Worker(Channel(sock), output)

    @property
    def running(self) -> bool:
        return self._process is not None

    def clear_home(self) -> None:
        """Remove what the last kernel file left, however it locked it away.

        To be called between two workers, before another kernel file is graded, or the same anew.
        """
        if self._folder is None:  # it has not started yet
            return
        with suppress(FileNotFoundError):  # it may have removed its home
            self._home.chmod(0o700)
            for folder, inner, _ in os.walk(self._home):
                for path in (Path(folder, name) for name in inner):
                    if not path.is_symlink():
                        path.chmod(0o700)
            for path in list(self._home.iterdir()):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()

    def kill(self, *, patient: bool = False) -> int | None:
        """End the worker and all that it started.

        Returns its wait status if it ended by itself; a patient caller gives it a second for that.
        """
        if self._control is None:
            return None
        try:
            self._control.sendall(b"w" if patient else b"k")
            answer = self._expect(END_S)
        except (CannotGrade, OSError):
            if self._process is not None:
                self._process.kill()  # or it was killed, or stopped, by the worker
            self.close()
            return None
        return int(answer) if answer.isdigit() else None

    def stop(self) -> bool:
        """Stop the worker and all that it started, until `go_on`; whether they were seen stopped.

        Raises NoWorker when the parent of workers does not answer.
        """
        assert self._control is not None
        self._control.sendall(b"s")
        return self._expect(END_S) == "stopped"

    def go_on(self) -> None:
        """Let the stopped worker run again. Does not wait until it does."""
        assert self._control is not None
        self._control.sendall(b"c")

    def _expect(self, timeout_s: float) -> str:
        assert self._control is not None
        self._control.settimeout(timeout_s)
        line = b""
        try:
            while not line.endswith(b"\n"):
                chunk = self._control.recv(64)
                if not chunk:
                    raise OSError(f"it {self._how_it_ended()}")
                line += chunk
        except OSError as error:
            self._log.seek(0)
            said = printable(self._log.read().decode(errors="replace")[-2000:])
            raise NoWorker(
                f"The worker process could not start ({error}).\n{said}".rstrip(),
                "`grader doctor` looks for what is wrong with the installation.",
            ) from None
        return line.decode().strip()

    def _how_it_ended(self) -> str:
        assert self._process is not None
        try:
            status = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            return "hung up"
        return describe_end(-status if status < 0 else status << 8)

    def home_for(self, kernel: bytes) -> Path:
        """A new private directory with nothing in it but a copy of the kernel file.

        Whatever another kernel file left in the home, compiled code above all, is removed before.
        """
        self._home.mkdir(mode=0o700, exist_ok=True)  # the last kernel may have removed it
        if kernel != self._kernel:
            self._kernel = kernel
            self.clear_home()
        folder = Path(tempfile.mkdtemp(prefix="kernel-", dir=self._home))
        folder.chmod(0o755)  # for a worker that is another user
        (folder / "kernel.py").write_bytes(kernel)
        return folder / "kernel.py"

    def close(self) -> None:
        """End everything and remove its files."""
        if self._control is not None:
            self._control.close()  # the parent kills its descendants and ends
            self._control = None
        if self._process is not None:
            try:
                # Before it is ready it has no descendants, and is deaf for seconds.
                self._process.wait(END_S if self._ready else 0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            _parents.discard(self._process.pid)
            if processes.adopts_orphans():
                processes.kill_children(spared=_parents)
            self._process = None
            self._log.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


class Worker:
    """One forked worker, as the judge holds it: a channel, and the first part of what it prints."""

    def __init__(self, channel: Channel, output: int) -> None:
        self.channel = channel
        self._kept = bytearray()
        self._output = output
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def _drain(self) -> None:
        while chunk := os.read(self._output, 1 << 16):
            self._kept += chunk[: max(0, KEPT_OUTPUT - len(self._kept))]
        os.close(self._output)

    def close(self) -> str:
        """Hang up and return what it printed. Call `ForkServer.kill` before: it ends the
        writers.
        """
        self.channel.close()
        self._reader.join(END_S)
        return printable(self._kept.decode(errors="replace"))


def describe_end(status: int) -> str:
    """A wait status in words: `was ended by SIGSEGV (it touched memory that it does not own)`."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        known = number in set(signal.Signals)  # the real-time ones have no names
        name = signal.Signals(number).name if known else f"signal {number}"
        meaning = SIGNALS.get(number)
        return f"was ended by {name}" + (f" ({meaning})" if meaning else "")
    return f"ended itself with exit status {os.waitstatus_to_exitcode(status)}"


SIGNALS: dict[int, str] = {
    signal.SIGSEGV: "it touched memory that it does not own",
    signal.SIGABRT: "the C library or the code itself gave up",
    signal.SIGKILL: "the system killed it, often for want of memory",
    signal.SIGBUS: "it touched memory that is not there",
    signal.SIGFPE: "an arithmetic fault",
}
