"""Loops for tests: over a copy of the small course, with a judge that follows a script."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from reported import ended, step

from grader.cli.loop import session, state, transitions
from grader.cli.loop.judging import JudgeThread
from grader.cli.loop.session import Front, Session
from grader.cli.loop.state import Loop, Transition
from grader.cli.loop.watching import Watch
from grader.grading import Request
from grader.grading.answers import Answer, EndedAnswer, ResultAnswer, StepAnswer
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Result
from grader.model.verdict import EXIT_CODES

SMALL = Path(__file__).parent / "courses" / "small"
assert EXIT_CODES  # the records of results are there
WRONG = Failure(
    kind="mismatch",
    message="element 3 of out is wrong",
    expected="8.0",
    got="4.0",
    replay="grader check 01_double --case '7,float16,seed=1'",
    hint="Multiply by two.",
)
LOADED = step("load", Outcome.PASS)


def small_course(folder: Path) -> Path:
    """Copy the small course, whose exercises are p01_copy, 01_double and 02_row_sum."""
    return shutil.copytree(SMALL, folder / "course")


def begun(folder: Path) -> Loop:
    """Return the state of a loop that has just begun."""
    return session.first_loop(small_course(folder), None)


def result(name: str, status: Status, digest: str = "a", output: str = "") -> Result:
    """Build a result of an exercise: passed, wrong, or not started."""
    last = {
        Status.PASS: step("correctness", Outcome.PASS),
        Status.FAIL: step("correctness", Outcome.FAIL, WRONG),
        Status.NOT_STARTED: step("correctness", Outcome.NOT_STARTED),
    }[status]
    whole = ended(status, LOADED, last)
    kernel = whole.kernel.model_copy(update={"path": "kernel.py", "sha256": digest})
    points = sum(one.points for one in whole.steps)
    changes = {"exercise": name, "kernel": kernel, "output": output, "points": points}
    return whole.model_copy(update=changes)


@dataclass
class Script:
    """A judge that answers at once; `by_text` maps a part of a kernel file to what then happens.

    That is a status, or an exception to raise. A file with `wait` in it is not answered before
    `interrupt`.
    """

    by_text: dict[str, Status | Exception] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    closed: bool = False
    given_up: threading.Event = field(default_factory=threading.Event)

    def ask(self, request: Request, hear: Callable[[Answer], None]) -> None:
        self.asked.append(request.exercise.name)
        content = request.kernel.read_bytes()
        text = content.decode()
        hear(StepAnswer(step="load", why="it is large"))
        hear(EndedAnswer(step=LOADED))
        if "wait" in text:
            hear(StepAnswer(step="correctness", why=""))
            assert self.given_up.wait(60)
            self.given_up.clear()
            raise KeyboardInterrupt
        then = next((what for part, what in self.by_text.items() if part in text), Status.PASS)
        if isinstance(then, Exception):
            raise then
        digest = session.digest_of(request.exercise)
        hear(ResultAnswer(result=result(request.exercise.name, then, digest or "")))

    def interrupt(self) -> None:
        self.given_up.set()

    def close(self) -> None:
        self.closed = True


def opened(loop: Loop, judge: Script, front: Front, post: Callable[[Transition], None]) -> Session:
    """Open a session with a scripted judge and a real watch."""
    watch = Watch(
        lambda: post(transitions.saved),
        lambda note: post(partial(transitions.noted, note=note)),
        poll=False,
    )
    return Session(loop, JudgeThread(judge, post, lambda: ""), watch, front)


def after(loop: Loop, *transitions: Transition) -> tuple[Loop, Sequence[state.Deed]]:
    """Do several transitions; return the last state and the deeds of all."""
    deeds: list[state.Deed] = []
    for transition in transitions:
        loop, more = transition(loop)
        deeds += more
    return loop, deeds
