"""A judge that stays between requests: a check then takes no time to start one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from grader.course import EXTENSIONS
from grader.grading.judge_process import JudgeProcess, environment
from grader.grading.requests import Request

if TYPE_CHECKING:
    from grader.grading.answers import Answer

MOST_REQUESTS = 100  # to one judge; bench/feedback.py measures how its memory grows
PATIENCE_S = 2.0  # for a judge to cancel a request; it takes hundredths of a second


class WarmJudge:
    """A judge that grades one kernel file after another, each in new workers.

    It reads spec and tests of an exercise anew for each request. A new judge takes its place after
    an error, when variables of the environment or the course's extensions have changed, and in the
    background after MOST_REQUESTS requests. `output` is the descriptor for what the judges print,
    else standard error.

        with WarmJudge() as judge:
            check.run([request], print, judge=judge)
    """

    def __init__(self, output: int | None = None) -> None:
        self._output = output
        self._turn = threading.Lock()  # of the thread that asks
        self._lock = threading.Lock()  # for the fields below
        self._judge: JudgeProcess | None = None
        self._made_of: object = None
        self._asked = 0  # of this judge
        self._asking = False
        self._interrupted = False

    def start(self, request: Request) -> None:
        """Begin to start what grading this file needs, and return at once.

        Raises as `ask` does where no judge can start.
        """
        with self._turn:
            self._fitting(request).prepare(request)

    def ask(self, request: Request, hear: Callable[[Answer], None]) -> None:
        """Have the request answered, and pass each answer to `hear` at once.

        Raises KeyboardInterrupt if `interrupt` ended it; what was heard before is not a verdict.
        Raises as `judge_process.ask` does, and the next request then gets a new judge.
        """
        with self._turn:
            judge = self._fitting(request)
            try:
                with self._interruptible():
                    went_on = judge.ask(request, hear)
            except BaseException as error:
                self._end()
                if self._interrupted:
                    self._fitting(request).prepare(request)
                    raise KeyboardInterrupt from error
                raise
            self._asked += 1
            if not went_on or self._asked >= MOST_REQUESTS:
                self._end()
                self._fitting(request).prepare(request)
            elif self._interrupted:
                judge.prepare(request)  # an interrupt that came too late must not meet the next
            if self._interrupted or not went_on:
                raise KeyboardInterrupt

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        with self._lock:
            self._asking, self._interrupted = True, False
        try:
            yield
        finally:
            with self._lock:
                self._asking = False

    def interrupt(self) -> None:
        """End the current request, if there is one; call it from another thread than `ask`.

        A judge that does not react within PATIENCE_S is killed. Returns at once.
        """
        with self._lock:
            if not self._asking or self._judge is None or self._interrupted:
                return
            self._interrupted = True
            self._judge.cancel()
            timer = threading.Timer(PATIENCE_S, self._kill_if_asking, [self._judge, self._asked])
        timer.daemon = True
        timer.start()

    def _kill_if_asking(self, judge: JudgeProcess, asked: int) -> None:
        with self._lock:
            if self._asking and self._judge is judge and self._asked == asked:
                judge.kill()

    def close(self) -> None:
        """End the judge, and what it is grading."""
        self.interrupt()
        with self._turn:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fitting(self, request: Request) -> JudgeProcess:
        """Return the judge, or a new one where it ended or what it has imported has changed."""
        made_of = environment(), _extensions(request.exercise.root)
        if self._judge is None or not self._judge.runs or made_of != self._made_of:
            self._end()
            judge = JudgeProcess(self._output)
            with self._lock:
                self._judge, self._made_of, self._asked = judge, made_of, 0
            return judge
        return self._judge

    def _end(self) -> None:
        with self._lock:
            judge, self._judge = self._judge, None
        if judge is not None:
            judge.stop()


def _extensions(root: Path) -> tuple[object, ...]:
    """Return what changes when a file of the course's extensions does: a judge has imported them.

    Two courses that have some never share a judge.
    """
    files = sorted((root.resolve() / EXTENSIONS).rglob("*.py"))
    states = [(path, path.stat()) for path in files]
    return tuple((path, state.st_mtime_ns, state.st_size) for path, state in states)
