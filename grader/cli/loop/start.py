"""Start the loop: in which course, at which exercise, and with which front end."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

from grader.cli.loop import session, transitions
from grader.cli.loop.judging import JudgeThread
from grader.cli.loop.session import Front, Session
from grader.cli.loop.state import Loop, Transition
from grader.cli.loop.watching import Watch
from grader.course import catalog
from grader.grading import WarmJudge
from grader.model import GraderError, UsageError, texts

STDERR = 2  # also for what judges print, which textual would else have
MOST_LOG = 1 << 16  # bytes of what a judge wrote that are looked at


def start(name: str | None = None, plain: bool = False, poll: bool = False) -> None:
    """Run the loop until the learner ends it.

    Raises UsageError outside of a course, for an unknown exercise, and without a terminal unless
    `plain`.
    """
    loop = session.first_loop(_root(), name)
    if not plain and not (_is_terminal(sys.__stdin__) and _is_terminal(sys.__stdout__)):
        raise UsageError(
            "The loop needs a terminal, and this is none.",
            "`grader --plain` reads and writes lines; `grader check NAME` grades once.",
        )
    if plain or (os.environ.get("TERM") or "dumb") == "dumb":
        _run_plain(loop, poll)
    else:
        _run_screen(loop, poll)


def _root() -> Path:
    try:
        return catalog.find_root()
    except UsageError as error:
        raise UsageError(
            error.message, "`grader init` makes a folder to learn in; there, type `grader` again."
        ) from None


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _run_plain(loop: Loop, poll: bool) -> None:
    from grader.cli.loop.plain import Plain

    front = Plain()
    made = opened(loop, poll, lambda: "", front, front.post)
    try:
        front.run(made)
    finally:
        made.close()


def _run_screen(loop: Loop, poll: bool) -> None:
    from grader.cli.loop.screen import LoopApp

    with screen_apart() as log:
        app = LoopApp(partial(opened, loop, poll, log))
        try:
            app.run(mouse=False)
        finally:
            if hasattr(app, "session"):
                app.session.close()
    if app.return_code:
        raise app.fault or GraderError(
            "The screen of the loop ended without saying why: this is a fault of the grader.",
            "Start the loop again; `grader --plain` needs no screen.",
        )


def opened(
    loop: Loop,
    poll: bool,
    log: Callable[[], str],
    front: Front,
    post: Callable[[Transition], None],
) -> Session:
    """Connect a front end with a judge and a watch, none of which is started yet."""
    watch = Watch(
        lambda: post(transitions.saved),
        lambda note: post(lambda loop: transitions.noted(loop, note)),
        poll,
    )
    return Session(loop, JudgeThread(WarmJudge(output=STDERR), post, log), watch, front)


@contextmanager
def screen_apart() -> Iterator[Callable[[], str]]:
    """Draw to a copy of standard output, and collect what judges write to standard error.

    Yields a function that returns the last line written since its last call.
    """
    before = os.dup(2)
    screen = open(os.dup(1), "w", encoding="utf-8")  # noqa: SIM115  closed below
    old, sys.__stderr__ = sys.__stderr__, screen  # type: ignore[misc]  # textual draws there
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        try:
            yield partial(_last_line, log.fileno())
        finally:
            os.dup2(before, 2)
            os.close(before)
            sys.__stderr__ = old  # type: ignore[misc]
            screen.close()


def _last_line(log: int) -> str:
    written = os.pread(log, MOST_LOG, max(os.fstat(log).st_size - MOST_LOG, 0))
    os.ftruncate(log, 0)
    lines = written.decode(errors="replace").strip("\0 \n").splitlines()
    return texts.one_line(lines[-1]) if lines else ""
