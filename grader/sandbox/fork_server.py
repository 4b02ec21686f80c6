"""The process wall between the judge and a learner's code: start and stop workers.

One `ForkServer` keeps one process, the fork server, with the heavy libraries imported. Each worker
is a fork of it, so a new one after a crash costs milliseconds. When a worker ends, or the judge
does, the fork server kills every process that the worker started.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from grader import backends
from grader.machine import empty_folder
from grader.model import LONGEST_LAUNCH, CannotGrade, Channel, printable
from grader.sandbox.commands import (
    CANARY,
    MAX_OUTPUT,
    START_S,
    end_orphans_of,
    environment,
    program,
    remove_home,
    started,
    walls_left_out,
)

END_S = 10.0


class NoWorker(CannotGrade):
    """The fork server could not start, or has ended."""


class Unfit(NoWorker):
    """The fork server refuses to start, and `next_step` says what to change or to install."""


class ForkServer:
    """The fork server for all workers of one backend on one device ("cpu", "cuda").

    Raises NoWorker if it cannot start, and CannotGrade for a backend that only runs on a GPU.
    """

    def __init__(self, backend: str, device: str) -> None:
        self.backend, self.device = backend, device
        self.notes: tuple[str, ...] = ()  # what the fork server could not load, once it is ready
        self._folder: Path | None = None
        self._kernel = b""
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._ready = False

    def start(self) -> None:
        # Does not wait for the imports: `fork` does.
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
        # A worker that runs as another user can enter its home through it, but not replace it.
        self._folder.chmod(0o711)
        self._home.mkdir(mode=0o700)
        ours, theirs = socket.socketpair()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed in close()
        self._process = started(
            program(
                "grader.worker",
                *(str(theirs.fileno()), str(backends.folder(self.backend))),
                *(self.device, str(self._home)),
                walls_left_out(),
            ),
            cwd=self._home,
            env=environment(self._home, simulated=simulated),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,  # the judge handles a Ctrl-C in the terminal
        )
        theirs.close()
        self._control = ours
        self._ready = False

    @property
    def _home(self) -> Path:
        assert self._folder is not None
        return self._folder / "home"

    def fork(self, arena_fd: int | None) -> Worker:
        """Fork a new worker. Restarts the fork server if something killed it."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self.start()
        assert self._control is not None
        if not self._ready:
            self._await_imports()
        sock, their_sock = socket.socketpair()
        output, their_output = os.pipe()
        descriptors = [their_sock.fileno(), their_output]
        device = None
        if arena_fd is not None and self.has_device:
            device, their_device = socket.socketpair()
            descriptors.append(their_device.fileno())
        descriptors += [] if arena_fd is None else [arena_fd]
        try:
            socket.send_fds(self._control, [b"f"], descriptors)
            self._expect(END_S)
        finally:
            their_sock.close()
            os.close(their_output)
            if device is not None:
                their_device.close()
        return Worker(
            Channel(sock), output, None if device is None else Channel(device, LONGEST_LAUNCH)
        )

    @property
    def has_device(self) -> bool:
        """Report whether a simulated device runs beside each worker that gets memory."""
        return self.device == "cpu" and backends.find(self.backend).device is not None

    def _await_imports(self) -> None:
        report = json.loads(self._expect(START_S))
        if "refused" in report:
            self.close()
            raise Unfit(*report["refused"])
        self.notes = tuple(report["notes"])
        self._ready = True

    @property
    def dry_run(self) -> bool:
        """True where kernels are compiled and never run."""
        return self.device == "cpu" and backends.find(self.backend).can.dry_run

    @property
    def running(self) -> bool:
        return self._process is not None

    def clear_home(self) -> None:
        """Remove all files of the last kernel file, even those that it locked away.

        Call it between two workers, before another kernel file is graded or the same one again.
        """
        if self._folder is None:  # it has not started yet
            return
        with suppress(FileNotFoundError, NotADirectoryError):  # it may have removed its home
            empty_folder(self._home)
            return
        self._home.unlink(missing_ok=True)  # a file or a link, which leads anywhere

    def kill(self, *, patient: bool = False) -> int | None:
        """End the worker and every process that it started.

        Returns its wait status if it ended by itself; with `patient` it has a second for that.
        """
        if self._control is None:
            return None
        try:
            self._control.sendall(b"w" if patient else b"k")
            answer = self._expect(END_S)
        except (CannotGrade, OSError):
            if self._process is not None:
                self._process.kill()  # the worker may have killed or stopped it
            self.close()
            return None
        return int(answer) if answer.isdigit() else None

    def stop(self) -> bool:
        """Stop the worker and its processes until `resume`; report whether all were seen stopped.

        Raises NoWorker if the fork server does not answer.
        """
        assert self._control is not None
        self._control.sendall(b"s")
        return self._expect(END_S) == "stopped"

    def resume(self) -> None:
        """Let the stopped worker run again, without waiting until it does."""
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
            raise NoWorker(
                _why_not_started(error, self.log()), "`grader doctor` examines the installation."
            ) from None
        return line.decode().strip()

    def log(self) -> str:
        """Return the last words of the fork server, or of a device."""
        self._log.seek(0)
        return printable(self._log.read().decode(errors="replace")[-2000:])

    def _how_it_ended(self) -> str:
        assert self._process is not None
        try:
            status = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            return "hung up"
        return describe_end(-status if status < 0 else status << 8)

    def home_for(self, kernel: bytes) -> Path:
        """Make a new private folder with a copy of the kernel file and nothing else.

        First removes what another kernel file left in the home, compiled code above all.
        """
        if kernel != self._kernel:
            self._kernel = kernel
            self.clear_home()
        self._home.mkdir(mode=0o700, exist_ok=True)  # the last kernel may have removed it
        folder = Path(tempfile.mkdtemp(prefix="kernel-", dir=self._home))
        folder.chmod(0o755)  # for a worker that runs as another user
        (folder / "kernel.py").write_bytes(kernel)
        return folder / "kernel.py"

    def close(self) -> None:
        if self._control is not None:
            self._control.close()  # the fork server kills its descendants and ends
            self._control = None
        if self._process is not None:
            try:
                # Before it is ready it has no descendants, and does not react for seconds.
                self._process.wait(END_S if self._ready else 0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            end_orphans_of(self._process)
            self._process = None
            self._log.close()
        if self._folder is not None:
            remove_home(self._folder)
            self._folder = None


def _why_not_started(error: OSError, log: str) -> str:
    """Put the log's last line, which in a traceback names the error, before the rest of it."""
    lines = log.strip().splitlines()
    head = f"The worker process could not start ({error})."
    return "\n".join([f"{head} {lines[-1].strip()}", *lines]) if lines else head


class Worker:
    """One forked worker on the judge's side: a channel, and the start of its printed output.

    `device` leads to the simulated device beside it, if there is one.
    """

    def __init__(self, channel: Channel, output: int, device: Channel | None) -> None:
        self.channel = channel
        self.device = device
        self._printed = bytearray()
        self._output = output
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def _drain(self) -> None:
        while chunk := os.read(self._output, 1 << 16):
            self._printed += chunk[: max(0, MAX_OUTPUT - len(self._printed))]
        os.close(self._output)

    def close(self) -> str:
        """Hang up and return the printed output. Call `ForkServer.kill` first."""
        self.channel.close()
        if self.device is not None:
            self.device.close()
        self._reader.join(END_S)
        return printable(self._printed.decode(errors="replace"))


def describe_end(status: int) -> str:
    """Describe a wait status: `was ended by SIGSEGV (it touched memory that it does not own)`."""
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
    signal.SIGKILL: "the system killed it, often because memory ran out",
    signal.SIGBUS: "it touched memory that does not exist",
    signal.SIGFPE: "an arithmetic fault",
}
