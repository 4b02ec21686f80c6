"""The judge's thread: one run at a time, whose answers become transitions."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from grader.cli.loop import transitions
from grader.cli.loop.state import Run, Transition
from grader.grading import Request, check
from grader.model import BrokenExercise, CannotGrade, GraderError, Status, UsageError

if TYPE_CHECKING:
    from grader.authoring import LintFinding
    from grader.grading import Answer

MOST_NOTES = 3  # below a check; `grader lint` lists all
Post = Callable[[Transition], None]


class Judge(Protocol):
    """A judge that may stay warm between requests."""

    def ask(self, request: Request, hear: Callable[[Answer], None]) -> None:
        """Have the request answered.

        Raises KeyboardInterrupt where `interrupt` ended it, and GraderError for a judge that ended
        too early.
        """

    def interrupt(self) -> None:
        """Give up the current request, from another thread."""

    def close(self) -> None:
        """End the judge."""


class JudgeThread:
    """Does the last run that it was given, and posts what a judge answers.

    `log` returns the last line that judges wrote to standard error since it was called.
    """

    def __init__(self, judge: Judge, post: Post, log: Callable[[], str]) -> None:
        self._judge, self._post, self._log = judge, post, log
        self._wanted: queue.SimpleQueue[tuple[Run, Request, float] | None] = queue.SimpleQueue()
        self._newest = 0
        self._passed = self._heard = False  # of the current run
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        """Start the thread; the judge starts with its first run."""
        self._thread.start()

    def grade(self, run: Run, request: Request) -> None:
        """Grade after the current run has ended or been given up."""
        self._newest = run.number
        self._wanted.put((run, request, time.monotonic()))

    def interrupt(self) -> None:
        """Give up the current run.

        A judge that is still starting answers nothing yet, and would be lost: its first answer is
        then interrupted.
        """
        self._newest = 0
        if self._heard:
            self._judge.interrupt()

    def close(self, patience_s: float = 2.0) -> None:
        """End the judge and the thread, for which it waits so many seconds."""
        self._newest = 0
        self._wanted.put(None)
        self._judge.interrupt()
        self._thread.join(patience_s)
        self._judge.close()

    def _work(self) -> None:
        while (wanted := self._wanted.get()) is not None:
            run, request, asked_at = wanted
            if run.number == self._newest:
                self._answer(run, request, asked_at)

    def _answer(self, run: Run, request: Request, asked_at: float) -> None:
        error, advice, crash = "", "", False
        self._passed = self._heard = False
        try:
            check.must_be_gradable(request)
            self._judge.ask(request, partial(self._hear, run, request, asked_at))
        except KeyboardInterrupt:  # the run was given up
            pass
        except GraderError as raised:
            crash = not isinstance(raised, CannotGrade | UsageError | BrokenExercise)
            error, advice = raised.message, raised.next_step
        except Exception as raised:  # a fault of ours: nothing passes, and the loop goes on
            error, crash = f"{type(raised).__name__}: {raised}", True
        written = self._log()
        if written and not self._passed and not crash:  # such as why there is no picture
            self._post(partial(transitions.noted, note=written))
        self._post(
            partial(transitions.over, number=run.number, error=error, advice=advice, crash=crash)
        )

    def _hear(self, run: Run, request: Request, asked_at: float, answer: Answer) -> None:
        number, self._heard = run.number, True
        if number != self._newest:  # given up before the first answer
            self._judge.interrupt()
            return
        match answer.kind:
            case "step":
                self._post(
                    partial(transitions.began, number=number, step=answer.step, slow=answer.why)
                )
            case "ended":
                self._post(partial(transitions.ended, number=number, step=answer.step))
            case "trace":
                self._post(partial(transitions.traced, number=number, trace=answer.trace))
            case "result":
                waited_s = time.monotonic() - asked_at
                notes: list[LintFinding] = []
                self._passed = answer.result.status is Status.PASS
                if self._passed:  # another kernel has more urgent faults
                    from grader import authoring

                    found = authoring.lessons_in(request.kernel, answer.result.kernel.sha256)
                    notes = list(found[:MOST_NOTES])
                graded = partial(transitions.graded, number=number, result=answer.result)
                self._post(partial(graded, waited_s=waited_s, notes=notes))
