"""`grader check`: have a judge grade some kernel files, or trace one, and collect its answers."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader import backends
from grader.course import Exercise, stubs
from grader.grading import judge_process
from grader.grading.options import Options as Options
from grader.grading.plan import points_of
from grader.grading.requests import Request as Request
from grader.model import Backend, Status, UsageError, texts

if TYPE_CHECKING:
    from grader.grading.answers import Answer
    from grader.grading.warm_judge import WarmJudge
    from grader.model import Result, Trace

STARTING = "a judge and a worker start, and import torch"
LARGEST_FILE = 1 << 20  # bytes of a kernel file; those of the course have a few thousand


def run(
    requests: Sequence[Request],
    progress: Callable[[str], None],
    on_result: Callable[[Result], None] = lambda result: None,
    on_trace: Callable[[Trace], None] = lambda trace: None,
    on_step: Callable[[str, str], None] = lambda text, why: None,
    judge: WarmJudge | None = None,
) -> list[Result]:
    """Have one judge grade the requests, in their order: `judge`, or one that starts and ends here.

    `progress` gets the name of the current exercise, `on_result` each result when it comes.
    `on_trace` gets the trace of a failing case if the request asks for a picture. `on_step` gets
    what is running, such as `grading 01_vector_add: correctness …`, and why it may take long.
    Raises UsageError for a missing kernel file, and any error that stops a judge: CannotGrade,
    BrokenExercise, KeyboardInterrupt.
    """
    for request in requests:
        must_be_gradable(request)
    if not requests:
        return []
    names = [request.exercise.name for request in requests]
    results: list[Result] = []

    def begin(number: int) -> None:
        if number < len(names) and (number == 0 or names[number] != names[number - 1]):
            progress(f"grading {names[number]} …")
            if number == 0:
                on_step(f"grading {names[number]} …", STARTING)

    def hear(answer: Answer) -> None:
        if answer.kind == "trace":
            on_trace(answer.trace)
        elif answer.kind == "step":
            name = names[min(len(results), len(names) - 1)]
            on_step(f"grading {name}: {answer.step} …", answer.why)
        elif answer.kind == "result":
            results.append(answer.result)
            on_result(answer.result)
            if answer.result.status is not Status.INTERRUPTED:
                begin(len(results))

    begin(0)
    _ask(requests, hear, judge)
    return results


def _ask(
    requests: Sequence[Request], hear: Callable[[Answer], None], judge: WarmJudge | None
) -> None:
    if judge is None:
        judge_process.ask(requests, hear)
        return
    for request in requests:
        judge.ask(request, hear)


def trace(request: Request, judge: WarmJudge | None = None) -> Trace:
    """Trace the threads or lanes in the request's case, or in the one that its exercise names.

    Raises as `run` does, and UsageError for an exercise whose threads cannot be traced.
    """
    _must_be_readable(request)
    must_have_pictures(request.exercise.for_file(request.kernel.read_bytes()))
    simulated = replace(request.options, device="cpu")  # only a simulator sees every access
    traces: list[Trace] = []

    def hear(answer: Answer) -> None:
        if answer.kind == "trace":
            traces.append(answer.trace)

    _ask([replace(request, options=simulated, task="trace")], hear, judge)
    (traced,) = traces
    return traced


def must_have_pictures(exercise: Exercise) -> None:
    """Raise UsageError for an exercise whose threads or lanes no simulator traces."""
    backend = backends.find(exercise.spec.backend)
    if not _has_pictures(backend):
        with_pictures = filter(_has_pictures, backends.every())
        raise UsageError(
            f"There is no picture of {exercise.name}: it is written in {backend.title}, and no "
            "simulator here traces what its kernels do.",
            f"Languages with pictures: {', '.join(each.title for each in with_pictures)}.",
        )


def _has_pictures(backend: Backend) -> bool:
    return backend.can.trace_threads or backend.can.trace_lanes


def must_be_gradable(request: Request) -> None:
    """Raise, before anything starts, what `run` would raise for the kernel file or the spec."""
    _must_be_readable(request)
    _ = points_of(request.exercise.any_spec)


def _must_be_readable(request: Request) -> None:
    kernel = request.kernel
    _must_be_printable(kernel)
    if not os.path.isfile(kernel):  # Path.is_file raises for a path that is too long
        raise UsageError(
            f"The kernel file {texts.cut(str(kernel), 300)} {_instead_of_a_file(kernel)}.",
            stubs.recovery(request.exercise, kernel)
            if kernel == request.exercise.kernel
            else "Name the kernel file with --kernel FILE.",
        )
    if not os.access(kernel, os.R_OK):
        raise UsageError(f"The kernel file {kernel} cannot be read.", "Check its permissions.")
    if (size := kernel.stat().st_size) > LARGEST_FILE:
        raise UsageError(
            f"The kernel file {kernel} has {size:,} bytes, and a kernel file may have "
            f"{LARGEST_FILE:,}.",
            "Take data out of it: a kernel gets all its data as arguments.",
        )
    if request.options.hardened and kernel.is_symlink():
        raise UsageError(
            f"--hardened: the kernel file {kernel} is a link, which may lead to others' work.",
            "Have the file itself handed in.",
        )


def _must_be_printable(kernel: Path) -> None:
    """Raise UsageError for a path that no report could show as it is."""
    if texts.visible(str(kernel)).translate({9: None, 10: None}) != str(kernel):
        raise UsageError(
            f"The path of the kernel file, {texts.cut(repr(str(kernel)), 300)}, is not UTF-8 or "
            "has control characters.",
            "Rename the file or its folder.",
        )


def _instead_of_a_file(path: Path) -> str:
    if os.path.isdir(path):
        return "is a folder, not a kernel file"
    if os.path.exists(path):
        return "is not a plain file"
    if os.path.islink(path):
        return "is a link that leads nowhere"
    try:
        path.stat()
    except OSError as error:
        if error.errno != errno.ENOENT:
            return f"cannot be read ({error.strerror})"
    return "does not exist"
