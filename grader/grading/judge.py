"""The judge: a process that runs pytest over an exercise's own files and decides.

Started by `judge_process` as `python -I -m grader.grading.judge ANSWERS_FD`. It reads one of the
`requests` after the other from standard input, to its end, and writes their `answers` to
ANSWERS_FD. From a learner's folder it reads only the bytes of one kernel file, and it does not run
them.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from grader.grading import own_imports, requests
from grader.grading.kinds import kind_of
from grader.grading.requests import Request
from grader.machine import devices, processes
from grader.model import CannotGrade, GraderError, Status
from grader.sandbox import ForkServer, cancellation

if TYPE_CHECKING:
    from grader.course import Exercise
    from grader.grading.answers import Answer, StepAnswer
    from grader.grading.plugin import Gradings
    from grader.grading.session import Grading
    from grader.grading.step import Step
    from grader.model import Case, Result, Sanitized
    from grader.model import Step as StepResult
    from grader.sandbox import ForkServers

Send = Callable[["Answer"], None]

KEPT = 256 << 20  # bytes that no array uses; a comparison of a million elements has a dozen arrays


def main(argv: list[str]) -> int:
    # Processes of a kernel that killed its parent become children of this one, which ends them.
    processes.adopt_orphans()
    processes.keep_freed_memory(KEPT)
    # At first a Ctrl-C only sets a flag, or the fork server could get lost while it starts.
    interrupted = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: interrupted.set())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # judge_process blocked it
    processes.die_with_parent(signal.SIGINT)
    cancellation.listen()
    outbox = Outbox(int(argv[0]))
    try:
        return _serve(_requests(outbox), outbox, interrupted)
    except (KeyboardInterrupt, BrokenPipeError):
        return 130  # nobody waits for an answer
    except Exception as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command interrupts at this answer
        outbox.send(_error_answer(error, debug=outbox.debug))
        return 0


class Outbox:
    """The way of answers to the process that asks. `tag` and `debug` are of the last request."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor
        self.tag, self.debug = "", False

    def send(self, answer: Answer) -> None:
        from grader.grading.answers import write

        with open(self._descriptor, "wb", closefd=False) as lines:
            lines.write(write(answer, self.tag))


def _requests(outbox: Outbox) -> Iterator[Request]:
    """Yield each request when it comes, to the end of standard input. Raises GraderError."""
    while line := sys.stdin.buffer.readline(requests.LONGEST_LINE + 1):
        outbox.tag, request = requests.read(line)
        outbox.debug = request.options.debug
        yield request


def _error_answer(error: Exception, *, debug: bool) -> Answer:
    from grader.grading.answers import ErrorAnswer

    if isinstance(error, GraderError):
        return ErrorAnswer(
            message=error.message,
            next_step=error.next_step,
            exit_code=3 if isinstance(error, CannotGrade) else 4,
        )
    if debug:
        traceback.print_exception(error)
    first_line = str(error).partition("\n")[0]
    return ErrorAnswer(
        message=f"The judge failed: {type(error).__name__}: {first_line}\n"
        "This is a fault of the grader, not of your kernel.",
        next_step="Report it to whoever runs the course, with what `grader check NAME --debug` "
        "prints.",
        exit_code=4,
    )


def _serve(asked: Iterator[Request], outbox: Outbox, interrupted: threading.Event) -> int:
    first = next(asked, None)
    if first is None:
        return 0
    # The worker's imports run while ours do: both are seconds long. Nothing that is imported before
    # it starts may load torch or pydantic.
    early = _early_fork_server(first)
    try:
        _import_all(early, interrupted.is_set())
        signal.signal(signal.SIGINT, _interrupt)
        from grader.sandbox import ForkServers

        with contextlib.closing(ForkServers()) as fork_servers:
            if early is not None:
                fork_servers.adopt(early)
            for request in chain([first], asked):
                with own_imports.forgotten(request.exercise.folder):
                    if not _serve_one(request, outbox.send, fork_servers):
                        return 130
        return 0
    finally:
        if early is not None:
            early.close()


def _serve_one(request: Request, send: Send, fork_servers: ForkServers) -> bool:
    """Answer a request; return False after a Ctrl-C, which ends the judge."""
    from grader.grading.answers import DoneAnswer

    if request.task == "prepare":
        cancellation.begin()
        _prepare(request, fork_servers)
        return True
    if request.options.device != "cpu" and devices.has_driver():
        processes.raise_priority()  # a process that waits for its turn looks like a slow kernel
    devices.release_cached_memory()
    try:
        if _answer(request, send, fork_servers) is Status.INTERRUPTED:
            cancellation.check()
            return False
    except cancellation.Cancelled:
        pass  # the judge goes on
    cancellation.begin()
    send(DoneAnswer())
    return True


def _prepare(request: Request, fork_servers: ForkServers) -> None:
    """Start the fork server for a kernel file, and try the walls around its workers."""
    # A broken spec or an unreadable file is reported when it is graded.
    with contextlib.suppress(GraderError, OSError):
        exercise = request.exercise.for_file(request.kernel.read_bytes())
        if kind_of(exercise.any_spec).backend(exercise.any_spec) is not None:
            fork_servers.walls(exercise.parts[0], _likely_device(request))


def _early_fork_server(first: Request) -> ForkServer | None:
    """Start a fork server at once, on the device that will most likely be chosen."""
    # A broken spec or an unreadable file is reported when it is graded.
    ours = own_imports.forgotten(first.exercise.folder)
    with contextlib.suppress(GraderError, OSError), ours:
        spec = first.exercise.for_file(first.kernel.read_bytes()).any_spec
        backend = kind_of(spec).backend(spec)
        if backend is not None:
            fork_server = ForkServer(backend, _likely_device(first))
            fork_server.start()
            return fork_server
    return None


def _likely_device(request: Request) -> str:
    """Return the device that is asked for, and for `auto` the one that a driver promises."""
    device = request.options.device
    return device if device != "auto" else "cuda" if devices.has_driver() else "cpu"


def _import_all(early: ForkServer | None, interrupted: bool) -> None:
    """Import what judging needs. A Ctrl-C exits at once: an import could swallow an exception."""

    def leave(*_: object) -> None:
        if early is not None:
            early.close()
        os._exit(130)

    signal.signal(signal.SIGINT, leave)
    if interrupted:
        leave()
    # Imported modules never become garbage. Collecting them would take an eighth of this time, and
    # slow down all that follows.
    gc.disable()
    import grader.grading.answers
    import grader.grading.plugin
    import grader.grading.result
    import grader.grading.steps.correctness.compare  # noqa: F401
    from grader.grading.seeded_draws import draw_by_seed_alone

    draw_by_seed_alone()
    gc.freeze()
    gc.enable()


def _interrupt(*_: object) -> None:
    """Let the first Ctrl-C end the check; further ones must not interrupt the cleanup."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _answer(request: Request, send: Send, fork_servers: ForkServers) -> Status | None:
    from grader.grading import entries, plugin, tracing
    from grader.grading.answers import ResultAnswer, TraceAnswer
    from grader.machine import choose_device
    from grader.sandbox import walls

    device = choose_device(request.options.device)
    options = replace(request.options, device=device)
    gradings = plugin.Gradings(
        fork_servers, options, request.kernel, shared=True, entry=request.exercise.entry
    )
    each = tuple(gradings.of(request.exercise.folder).values())
    exercise = request.exercise.for_file(each[0].kernel)
    runs_code = kind_of(exercise.any_spec).backend(exercise.any_spec) is not None
    if options.hardened and runs_code:
        for where in {device, "cpu"}:  # a GPU's kernels are simulated too
            walls.require(fork_servers.walls(exercise.parts[0], where))
    if request.task == "trace":
        with contextlib.closing(each[0]):
            send(TraceAnswer(trace=tracing.trace_of(each[0], options.case)))
        return None
    for grading in each:
        grading.on_step = partial(_send_step, send, grading)
        grading.on_ended = partial(_send_ended, send, grading)
    results = _graded(gradings, exercise)
    whole = entries.together(exercise, results)
    send(ResultAnswer(result=whole))
    if options.picture and runs_code:
        _draw_first(each, results, send)
    return whole.status


def _send_step(send: Send, grading: Grading, step: Step) -> None:
    entry = grading.exercise.entry
    name = step.name if entry is None else f"{entry} {step.name}"
    send(_step_answer(grading, name, step.slow))


def _send_ended(send: Send, grading: Grading, step: StepResult) -> None:
    from grader.grading.answers import EndedAnswer

    send(EndedAnswer(step=step, entry=grading.exercise.entry))


def _step_answer(grading: Grading, step: str, slow: Callable[[Grading], str]) -> StepAnswer:
    from grader.grading.answers import StepAnswer

    why = ""
    with contextlib.suppress(Exception):  # an extension's own words are not worth a check
        why = slow(grading)
    return StepAnswer(step=step, why=why)


def _graded(gradings: Gradings, exercise: Exercise) -> list[Result]:
    import pytest

    from grader.grading import pytest_run, sanitize
    from grader.grading.result import result_of

    options, results = gradings.options, []
    sanitizer = sanitize.require(options.device) if options.sanitize else None
    code, printed = pytest_run.run(gradings, exercise)
    interrupted = code == pytest.ExitCode.INTERRUPTED
    for grading in gradings.of(exercise.folder).values():
        gradings.begin(grading)
        sanitized: tuple[Sanitized, ...] = ()
        if sanitizer is not None and not interrupted:
            sanitized = sanitize.sanitize(grading, sanitizer)
        results.append(result_of(grading, interrupted, sanitized))
        if options.debug:
            print(*grading.tracebacks, sep="\n", end="", file=sys.stderr)
    unfinished = any(one.status is Status.UNFINISHED for one in results) and not options.leave_out
    if unfinished:  # a fault of ours: pytest knows more
        print(printed if options.debug else pytest_run.last_error(printed), file=sys.stderr)
    return results


def _draw_first(each: Sequence[Grading], results: Sequence[Result], send: Send) -> None:
    """Send a trace of the first entry's failing case that shows the reason, after the result."""
    from grader.grading import picture

    for grading, result in zip(each, results, strict=True):
        case = picture.case_of(result, grading.spec, grading.failing)
        if case is not None:
            _draw(grading, case, send)
            return


def _draw(grading: Grading, case: Case, send: Send) -> None:
    from grader.grading import slow, tracing
    from grader.grading.answers import TraceAnswer

    send(_step_answer(grading, "picture", slow.simulated))
    try:
        with contextlib.closing(grading):
            send(TraceAnswer(trace=tracing.trace_of(grading, case)))
    except Exception as error:  # the verdict has been sent, and stays
        why = (
            error.message if isinstance(error, GraderError) else f"{type(error).__name__}: {error}"
        )
        print(f"There is no picture of this case: {why}", file=sys.stderr)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # to shut down an interpreter with torch takes a second
