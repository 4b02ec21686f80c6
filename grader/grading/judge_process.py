"""Start a judge, send it requests, and read its answers to the end.

The modules that read answers are imported while the judge starts, because both take long.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from grader.grading import requests as messages
from grader.grading.requests import Request
from grader.machine import require_limits
from grader.model import GraderError

if TYPE_CHECKING:
    from grader.grading.answers import Answer

ENVIRONMENT = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Judges run in parallel, one for each core. The sums of simulated cases are too small to gain
    # from more cores, and 64 judges with 64 threads each would block each other.
    "OMP_NUM_THREADS": "1",
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
    require_limits()
    answers, writer = os.pipe()
    judge = _start(writer)
    os.close(writer)
    assert judge.stdin is not None
    try:
        with suppress(BrokenPipeError):
            judge.stdin.write(messages.write(requests))
            judge.stdin.close()
        settled, cut_off = _hear_all(answers, requests, hear)
        code = judge.wait()
    except BaseException:
        _stop(judge)
        raise
    if code == INTERRUPTED and settled and not cut_off:
        return
    # Only a judge that exits by itself has a final result. Otherwise a process that could write to
    # its pipe, and kill it, would decide the verdict.
    if code != 0 or settled < len(requests) or cut_off:
        raise GraderError(
            f"The judge ended (exit status {code}) before it had graded everything: "
            f"{settled} of {len(requests)}{', and one answer cut off' * cut_off}.",
            OUR_FAULT,
        )


def _start(writer: int) -> subprocess.Popen[bytes]:
    # The judge starts with SIGINT blocked: one that comes while it imports waits for its handler.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-m", "grader.grading.judge", str(writer)],
            stdin=subprocess.PIPE,
            stdout=sys.stderr.fileno() if _has_descriptor(sys.stderr) else subprocess.DEVNULL,
            pass_fds=[writer],
            process_group=0,  # a Ctrl-C in the terminal comes here alone, to be passed on once
            env=_environment(),
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _hear_all(
    answers: int, requests: Sequence[Request], hear: Callable[[Answer], None]
) -> tuple[int, bool]:
    """Return how many requests were settled, and whether the last line is cut off."""
    from grader.grading.answers import LONGEST_LINE, ErrorAnswer, read

    settled = 0
    with os.fdopen(answers, "rb") as lines:
        while line := lines.readline(LONGEST_LINE + 1):
            if not line.endswith(b"\n") and len(line) <= LONGEST_LINE:
                return settled, True
            answer = read(line)
            if isinstance(answer, ErrorAnswer):
                raise answer.error()
            settled += _settles(answer, requests, settled)
            hear(answer)
    return settled, False


def _settles(answer: Answer, requests: Sequence[Request], settled: int) -> bool:
    """Return True for the answer to the next request.

    Return False for a picture to the one before, and for steps. Raises GraderError for
    any other answer.
    """
    if settled < len(requests) and answer.kind in (*EARLY, SETTLED_BY[requests[settled].task]):
        return answer.kind not in EARLY
    if answer.kind in ("step", "trace") and settled and requests[settled - 1].options.picture:
        return False
    raise GraderError(
        f"The judge sent an unexpected answer: a {answer.kind} after {settled} of {len(requests)}.",
        OUR_FAULT,
    )


def _environment() -> dict[str, str]:
    """Return our environment without pytest's variables, which could choose tests and plugins."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return own | ENVIRONMENT


def _has_descriptor(stream: object) -> bool:
    try:
        return stream.fileno() >= 0  # type: ignore[attr-defined,no-any-return]
    except (OSError, AttributeError):
        return False


def _stop(judge: subprocess.Popen[bytes]) -> None:
    """Let the judge end its worker; kill it when it does not, or on a second Ctrl-C."""
    judge.send_signal(signal.SIGINT)
    try:
        judge.wait(STOP_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        judge.kill()  # the fork server then cleans up by itself
        judge.wait()
