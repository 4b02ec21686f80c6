"""The judge: a process that runs pytest over an exercise's own files and decides.

Started by `grader.grading.check` as `python -I -m grader.grading.judge RESULT_FD`, with a list of
requests as JSON
on standard input; writes one `grader/result/v1` a line to RESULT_FD, in the order of the requests.
Of a learner's folder only the bytes of one kernel file are read, and they are not run here.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from grader.grading import requests
from grader.grading.requests import Request
from grader.machine import devices, processes
from grader.model import GraderError, Outcome, Status
from grader.sandbox import ForkServer

if TYPE_CHECKING:
    import pytest

    from grader.grading import plugin
    from grader.grading.session import ForkServers, Grading


def main(argv: list[str]) -> int:
    # What a kernel leaves behind after it killed its parent comes here, to be ended.
    processes.adopt_orphans()
    # A Ctrl-C is only noted at first: the parent of workers must not get lost while it starts.
    noted = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: noted.set())
    processes.die_with_parent(signal.SIGINT)
    results = os.fdopen(int(argv[0]), "w", encoding="utf-8")
    os.set_inheritable(results.fileno(), False)
    asked = requests.read(sys.stdin.buffer)
    if any(request.options.device != "cpu" for request in asked) and devices.has_driver():
        processes.raise_priority()  # a process that waits for its turn looks like a slow kernel
    # The worker's imports run while ours do: both are seconds long.
    early = _early_fork_server(asked[0])
    _import_all(early, noted.is_set())
    signal.signal(signal.SIGINT, _interrupt)
    try:
        return _answer(asked, early, results)
    except (KeyboardInterrupt, BrokenPipeError):
        return 130  # nobody waits for an answer any more
    finally:
        if early is not None:
            early.close()


def _import_all(early: ForkServer | None, interrupted: bool) -> None:
    """Import what judging needs. A Ctrl-C ends it at once: an exception can get lost in imports."""

    def leave(*_: object) -> None:
        if early is not None:
            early.close()
        os._exit(130)

    signal.signal(signal.SIGINT, leave)
    if interrupted:
        leave()
    # Nothing of it becomes garbage: to look for some takes an eighth of these seconds, and a part
    # of all that come after.
    gc.disable()
    import grader.grading.plugin
    import grader.grading.session
    import grader.grading.steps.correctness  # noqa: F401

    gc.freeze()
    gc.enable()


def _interrupt(*_: object) -> None:
    """The first Ctrl-C ends the check; further ones must not disturb the clearing up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _answer(asked: Sequence[Request], early: ForkServer | None, results: TextIO) -> int:
    from grader.grading.session import ForkServers
    from grader.machine import choose_device

    try:
        with contextlib.closing(ForkServers()) as fork_servers:
            if early is not None:
                fork_servers.adopt(early)
            for request in asked:
                device = choose_device(request.options.device)
                options = replace(request.options, device=device, judged=True)
                line, interrupted = _grade(replace(request, options=options), fork_servers)
                results.write(line + "\n")
                results.flush()
                if interrupted:
                    return 130
    except GraderError as error:
        results.write(
            json.dumps(
                {"error": error.message, "next_step": error.next_step, "exit_code": error.exit_code}
            )
            + "\n"
        )
        results.flush()  # for this process ends without closing anything
    return 0


def _early_fork_server(first: Request) -> ForkServer | None:
    """Start the parent of workers at once, on the device that will most likely be chosen."""
    device = first.options.device
    if device == "auto":
        device = "cuda" if devices.has_driver() else "cpu"
    with contextlib.suppress(GraderError):  # a broken spec is reported when it is graded
        spec = first.exercise.spec
        fork_server = ForkServer(spec.backend, device)
        fork_server.start()
        return fork_server
    return None


def _grade(request: Request, fork_servers: ForkServers) -> tuple[str, bool]:
    """Grade one kernel file; the result as JSON, and whether the user interrupted it."""
    import pytest

    from grader.grading import plugin, sanitize, tracing
    from grader.model import result_json, trace
    from grader.sandbox import walls

    options, exercise = request.options, request.exercise
    sanitizer = sanitize.require(options.device) if options.sanitize else None
    if options.hardened:
        for where in {options.device, "cpu"}:  # a GPU's kernels are simulated too
            walls.require(fork_servers.walls(exercise, where))
    gradings = plugin.Gradings(fork_servers, options, request.kernel)
    grading = gradings.of(exercise.folder)
    if request.task == "trace":
        with contextlib.closing(grading):
            return trace.trace_json(tracing.trace_of(grading, options.case)), False
    watch = _Watch(gradings, grading)
    said = io.StringIO()
    with (
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        _imports_of(exercise.folder),
    ):
        code = pytest.main(
            [
                *("-c", os.devnull, "--rootdir", str(exercise.folder), "--noconftest"),
                *("-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"),
                # It collects garbage twice at the end, which takes longer than all else together.
                *("-p", "no:unraisableexception"),
                *("--import-mode=importlib", "-q", f"--hypothesis-seed={options.seed}"),
                "--continue-on-collection-errors",
                str(exercise.folder / "spec.py"),
                *([str(exercise.tests)] if exercise.tests.exists() else []),
            ],
            plugins=[plugin, watch],
        )
    interrupted = code == pytest.ExitCode.INTERRUPTED
    found = () if sanitizer is None or interrupted else sanitize.sanitize(grading, sanitizer)
    result = grading.result(interrupted, found)
    if result.status is Status.UNFINISHED:
        print(said.getvalue(), file=sys.stderr)  # a fault of ours: pytest knows more
    return result_json(result), interrupted


@contextlib.contextmanager
def _imports_of(folder: Path) -> Iterator[None]:
    """What tests import of their exercise's folder is forgotten after them, and where they look.

    All are called test_kernel.py: the next exercise's would be taken for these.
    """
    before, path = set(sys.modules), list(sys.path)
    try:
        yield
    finally:
        for name in sys.modules.keys() - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).is_relative_to(folder):
                del sys.modules[name]
        sys.path[:] = path


class _Watch:
    """Hands the prepared gradings to the plugin, and hears of tests that cannot be imported."""

    def __init__(self, gradings: plugin.Gradings, grading: Grading) -> None:
        self._gradings, self._grading = gradings, grading

    def pytest_configure(self, config: pytest.Config) -> None:
        from grader.grading import plugin

        config.stash[plugin.GRADINGS] = self._gradings

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        from grader.model import Failure

        if report.failed:
            failure = Failure(
                kind="error",
                message=f"{report.nodeid} is broken: {_last_line(report.longreprtext)}",
                hint="Tell whoever wrote the exercise; your kernel is not at fault.",
            )
            self._grading.record_property(report.nodeid, 0.0, Outcome.ERROR, failure)


def _last_line(traceback: str) -> str:
    """What was raised, out of pytest's account of it."""
    raised = [line[1:].strip() for line in traceback.splitlines() if line.startswith("E ")]
    return raised[-1] if raised else "see the output of pytest"


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # taking the interpreter with torch in it apart would take a second
