"""`grader check`: start a judge for some kernel files and collect what it decides.

What reads its answers is imported while it starts, for either takes long.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from grader import backends
from grader.course import Exercise, stubs
from grader.grading import requests as messages
from grader.grading.options import Options as Options
from grader.grading.requests import Request as Request
from grader.model import CannotGrade, GraderError, Status, UsageError

if TYPE_CHECKING:
    from grader.model import Result, Trace

T = TypeVar("T")
Reader = Callable[[bytes], T]  # of one line of a judge's

JUDGE_ENVIRONMENT = {
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Judges run beside each other, one for each core. One that used all cores for the small sums of
    # the simulated cases would gain nothing, and 64 of them on 64 cores stand still.
    "OMP_NUM_THREADS": "1",
    "HYPOTHESIS_STORAGE_DIRECTORY": os.devnull,  # or it leaves .hypothesis where the learner is
}
STOP_S = 15.0  # seconds that an interrupted judge gets to end its worker
LARGEST_FILE = 1 << 20  # bytes of a kernel file; those of the course have a few thousand


def run(
    requests: Sequence[Request],
    progress: Callable[[str], None],
    heard: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """Have one judge grade the requests, in their order.

    `progress` is told what is being graded, `heard` each result when it comes. Raises UsageError
    for a kernel file that is not there, and whatever keeps a judge from judging: CannotGrade,
    BrokenExercise, KeyboardInterrupt.
    """
    for request in requests:
        must_be_gradable(request)
    if not requests:
        return []
    names = [request.exercise.name for request in requests]
    numbers = itertools.count(1)

    def begin(number: int) -> None:
        if number < len(names) and (number == 0 or names[number] != names[number - 1]):
            progress(f"grading {names[number]} …")

    def reader() -> Reader[Result]:
        from grader.model import parse_result

        def read(line: bytes) -> Result:
            result = _parsed(line, parse_result)
            heard(result)
            if result.status is not Status.INTERRUPTED:
                begin(next(numbers))
            return result

        return read

    begin(0)
    return _judge(requests, reader)


def trace(request: Request) -> Trace:
    """What each thread does in the request's case, or in the one that its exercise has drawn.

    Raises as `run` does, and UsageError for an exercise whose threads cannot be traced.
    """
    _must_be_readable(request)
    must_have_threads(request.exercise)
    simulated = replace(request.options, device="cpu")  # only a simulator sees every access
    asked = replace(request, options=simulated, task="trace")

    def reader() -> Reader[Trace]:
        from grader.model import parse_trace

        return lambda line: _parsed(line, parse_trace)

    (told,) = _judge([asked], reader)
    return told


def must_have_threads(exercise: Exercise) -> None:
    """Raises UsageError for an exercise whose threads no simulator tells of one by one."""
    backend = backends.find(exercise.spec.backend)
    if not backend.can.trace_threads:
        raise UsageError(
            f"There is no picture of {exercise.name}: it is written in {backend.title}, whose "
            "kernels have no threads that a simulator could watch one by one.",
            "`grader list` shows the puzzles, all of which can be drawn.",
        )


def must_be_gradable(request: Request) -> None:
    """Raises, before anything starts, what `run` would for the kernel file or for the spec."""
    _must_be_readable(request)
    _ = request.exercise.spec


def _must_be_readable(request: Request) -> None:
    kernel = request.kernel
    if not kernel.is_file():
        raise UsageError(
            f"The kernel file {kernel} {_instead_of_a_file(kernel)}.",
            stubs.recovery(request.exercise, kernel)
            if kernel == request.exercise.kernel
            else "Name the kernel file with --kernel FILE.",
        )
    if not os.access(kernel, os.R_OK):
        raise UsageError(f"The kernel file {kernel} cannot be read.", "See its permissions.")
    if (size := kernel.stat().st_size) > LARGEST_FILE:
        raise UsageError(
            f"The kernel file {kernel} has {size:,} bytes, and a kernel file may have "
            f"{LARGEST_FILE:,}.",
            "Leave data out of it: a kernel gets all that it needs as arguments.",
        )
    if request.options.hardened and kernel.is_symlink():
        raise UsageError(
            f"--hardened: the kernel file {kernel} is a link, which may lead to others' work.",
            "Have the file itself handed in.",
        )


def _instead_of_a_file(path: Path) -> str:
    """What is at a path at which no plain file is."""
    if path.is_dir():
        return "is a folder, not a kernel file"
    if path.exists():
        return "is no plain file"
    return "is a link that leads nowhere" if path.is_symlink() else "does not exist"


def _judge(requests: Sequence[Request], reader: Callable[[], Reader[T]]) -> list[T]:
    """What a judge answers to each request, as read by what `reader` imports."""
    answers, writer = os.pipe()
    judge = subprocess.Popen(
        [sys.executable, "-I", "-m", "grader.grading.judge", str(writer)],
        stdin=subprocess.PIPE,
        stdout=sys.stderr.fileno() if _has_descriptor(sys.stderr) else subprocess.DEVNULL,
        pass_fds=[writer],
        process_group=0,  # a Ctrl-C in the terminal comes here alone, to be passed on once
        env=_environment(),
    )
    os.close(writer)
    assert judge.stdin is not None
    try:
        with suppress(BrokenPipeError):
            judge.stdin.write(messages.write(requests))
            judge.stdin.close()
        read, results = reader(), []
        with os.fdopen(answers, "rb") as lines:
            for line in lines:
                results.append(read(line))
        code = judge.wait()
    except BaseException:
        _stop(judge)
        raise
    if code == 130 and 0 < len(results) <= len(requests):
        return results
    # Only a judge that came to its own end has said all that it says: whoever could write where it
    # writes, and end it, would have the last word.
    if code != 0 or len(results) != len(requests):
        raise GraderError(
            f"The judge ended (exit status {code}) before it had graded everything: "
            f"{len(results)} of {len(requests)}.",
            "This is a fault of the grader, not of the kernel; what it said is above.",
        )
    return results


def _environment() -> dict[str, str]:
    """The judge's. PYTEST_ADDOPTS and its kin would choose tests, and plugins to run there."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return own | JUDGE_ENVIRONMENT


def _has_descriptor(stream: object) -> bool:
    try:
        return stream.fileno() >= 0  # type: ignore[attr-defined,no-any-return]
    except (OSError, AttributeError):
        return False


def _parsed(line: bytes, read: Reader[T]) -> T:
    from pydantic import ValidationError

    try:
        return read(line)
    except ValidationError:
        message = json.loads(line)
    kind = CannotGrade if message.get("exit_code") == CannotGrade.exit_code else GraderError
    raise kind(message["error"], message["next_step"])


def _stop(judge: subprocess.Popen[bytes]) -> None:
    """Let the judge end its worker; kill it when it does not, or on a second Ctrl-C."""
    judge.send_signal(signal.SIGINT)
    try:
        judge.wait(STOP_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        judge.kill()  # the parent of workers then clears up by itself
        judge.wait()
