"""Start a judge, send it requests one after the other, and read its answers.

The modules that read answers are imported while the judge starts, because both take long.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.grading import requests as messages
from grader.grading.requests import Request
from grader.machine import require_limits
from grader.model import GraderError
from grader.sandbox import cancellation

if TYPE_CHECKING:
    from grader.grading.answers import Answer

ENVIRONMENT = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Judges run in parallel, one for each core. The sums of simulated cases are too small to gain
    # from more cores, and 64 judges with 64 threads each would block each other.
    "OMP_NUM_THREADS": "1",
    # A judge uses one stream. With CUDA's eight queues the driver takes three times as long for its
    # context, and it makes one after the other (bench/results/contexts_h100.json).
    "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    "HYPOTHESIS_STORAGE_DIRECTORY": os.devnull,  # or it leaves .hypothesis where the learner is
}
STOP_S = 15.0  # seconds that an interrupted judge gets to end its worker
OUR_FAULT = "This is a fault of the grader, not of the kernel; its output is above."
EARLY = ("step", "ended")  # the kinds of answer that come before the one that settles a task
SETTLED_BY = {"grade": "result", "trace": "trace"}  # the kind of answer to each task
INTERRUPTED = 130  # the exit status of a judge after Ctrl-C


def ask(requests: Sequence[Request], hear: Callable[[Answer], None]) -> None:
    """Have one judge answer the requests in their order; pass each answer to `hear` at once.

    Raises the error that a judge reports (CannotGrade, GraderError), and GraderError for a judge
    that sends anything else or ends too early. Raises CannotGrade where the shell's limits let none
    start.
    """
    judge = JudgeProcess()
    try:
        if all(judge.ask(request, hear) for request in requests):
            judge.end()
    finally:
        judge.stop()


class JudgeProcess:
    """One judge, from its start to its end. Raises CannotGrade where limits let none start.

    It answers one request at a time. `output` is the descriptor for what it prints, else standard
    error. Call `stop` at the end, and after an exception.
    """

    def __init__(self, output: int | None = None) -> None:
        require_limits()
        reader, self._writer = os.pipe()
        self._answers = os.fdopen(reader, "rb")
        self._output = output
        self._cancelled = False
        self._started = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._failed: BaseException | None = None
        # A judge gets a signal when the thread that started it ends (prctl(2), PR_SET_PDEATHSIG).
        # A thread of its own lives as long as the judge, whichever thread asks.
        threading.Thread(target=self._run, daemon=True).start()
        try:
            self._started.wait()
        except BaseException:
            self._started.wait()
            self.stop()
            raise
        if self._failed is not None:
            raise self._failed

    def _run(self) -> None:
        try:
            self._process = _start(self._writer, self._output)
        except BaseException as error:
            self._failed = error
        finally:
            os.close(self._writer)
            self._started.set()
        if self._process is not None:
            self._process.wait()

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def prepare(self, request: Request) -> None:
        """Have the judge start what grading this file needs, without waiting for it."""
        self._write(replace(request, task="prepare"), "")

    def ask(self, request: Request, hear: Callable[[Answer], None]) -> bool:
        """Pass each answer to `hear` at once; return False if a Ctrl-C ended the judge.

        Its last answer is then that of an interrupted check. Raises as the function `ask` does.
        """
        tag, self._cancelled = secrets.token_hex(16), False
        self._write(request, tag)
        if self._hear_all(request, tag, hear):
            return True
        self._require_end(INTERRUPTED)
        return False

    def _write(self, request: Request, tag: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the answers say why
            self._process.stdin.write(messages.write(request, tag))
            self._process.stdin.flush()

    def _hear_all(self, request: Request, tag: str, hear: Callable[[Answer], None]) -> bool:
        """Return whether all answers to the request came, or False if the last line was a result.

        Raises GraderError when the judge ended earlier, or within a line.
        """
        from grader.grading.answers import LONGEST_LINE, ErrorAnswer, read

        settled = False
        while line := self._answers.readline(LONGEST_LINE + 1):
            if not line.endswith(b"\n") and len(line) <= LONGEST_LINE:
                raise self._ended_early("within an answer")
            answer = read(line, tag)
            if isinstance(answer, ErrorAnswer):
                raise answer.error()
            if answer.kind == "done":
                if not settled and not self._cancelled:
                    raise GraderError("The judge was done without a result.", OUR_FAULT)
                return True
            settled = _settles(answer, request, settled)
            hear(answer)
        if not settled:
            raise self._ended_early("before it had graded everything")
        return False

    def _ended_early(self, when: str) -> GraderError:
        assert self._process is not None
        code = self._process.wait()
        return GraderError(f"The judge ended (exit status {code}) {when}.", OUR_FAULT)

    def _require_end(self, code: int) -> None:
        """Raise GraderError unless the judge ended by itself with this exit status.

        A process that could write to its pipe, and kill it, would otherwise decide a verdict.
        """
        assert self._process is not None
        if self._process.wait() != code:
            raise self._ended_early("before it had graded everything")

    def cancel(self) -> None:
        """Have the judge stop grading and wait for the next request; call it from any thread."""
        assert self._process is not None
        self._cancelled = True
        self._process.send_signal(cancellation.SIGNAL)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()  # the fork server then cleans up by itself

    def end(self) -> None:
        """Let the judge end, as it does when nothing more is asked. Raises GraderError."""
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        if self._answers.read(1):
            raise GraderError("The judge sent an answer after its last one.", OUR_FAULT)
        self._require_end(0)

    def stop(self) -> None:
        """Have the judge end its worker, if it runs; kill it when it does not, or on a Ctrl-C."""
        if self._process is None or self._process.stdin is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(STOP_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            self.kill()
            self._process.wait()
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._answers.close()


def _start(writer: int, output: int | None) -> subprocess.Popen[bytes]:
    if output is None:
        output = sys.stderr.fileno() if _has_descriptor(sys.stderr) else None
    # The judge starts with both signals blocked: one that comes while Python starts waits for its
    # handler.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, cancellation.SIGNAL})
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-m", "grader.grading.judge", str(writer)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL if output is None else output,
            stderr=output,
            pass_fds=[writer],
            process_group=0,  # a Ctrl-C in the terminal comes here alone, to be passed on once
            env=environment(),
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _settles(answer: Answer, request: Request, settled: bool) -> bool:
    """Return whether the request is settled with this answer.

    A picture, and its step, may follow the result. Raises GraderError for any other answer.
    """
    if not settled and answer.kind in (*EARLY, SETTLED_BY[request.task]):
        return answer.kind not in EARLY
    if settled and answer.kind in ("step", "trace") and request.options.picture:
        return True
    when = "after" if settled else "before"
    raise GraderError(
        f"The judge sent an unexpected answer: a {answer.kind} {when} the result.", OUR_FAULT
    )


def environment() -> dict[str, str]:
    """Return our environment without pytest's variables, which could choose tests and plugins."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return own | ENVIRONMENT


def _has_descriptor(stream: object) -> bool:
    try:
        return stream.fileno() >= 0  # type: ignore[attr-defined,no-any-return]
    except (OSError, AttributeError):
        return False
