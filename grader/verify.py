"""`grader verify`: a good exercise passes the right answer and rejects the wrong ones.

For each exercise: the stub is not_started, the solution passes every step, every wrong kernel is
rejected at the step that it names, and answers that are no work at all are rejected.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from grader import check, machine
from grader.course import Exercise, needs_simulator, rejected_at
from grader.errors import BrokenExercise
from grader.results import Result
from grader.stub import make_stub
from grader.terms import Outcome, Status, StepName
from grader.verdict import first_problem

# Names of grader.pretend.ANSWERS, which is not imported here: it needs torch.
NO_WORK = ("zeros", "nan", "first_input", "untouched", "lower_precision")


@dataclass(frozen=True)
class Verified:
    """One kernel of one exercise: what became of it, and whether that is what should.

    `kind` is stub, solution, wrong or no_work; `expected` and `actual` are `pass`, `not_started`,
    or the step that rejects.
    """

    exercise: str
    kind: str
    kernel: str
    expected: str
    actual: str
    ok: bool
    detail: str
    result: Result


@dataclass(frozen=True)
class _Trial:
    kind: str
    kernel: str
    expected: str
    request: check.Request


def run(
    exercises: Sequence[Exercise], device: str, progress: Callable[[str], None]
) -> list[Verified]:
    """Verify the exercises in their order; on the CPU as many at a time as there are cores."""
    on_gpu = device == "cuda" or (device == "auto" and machine.has_driver())
    at_once = 1 if on_gpu else os.cpu_count() or 1
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        verified = pool.map(lambda e: _verify(e, device, progress), exercises)
        return list(itertools.chain.from_iterable(verified))


def _verify(exercise: Exercise, device: str, progress: Callable[[str], None]) -> list[Verified]:
    if not exercise.solution.is_file():
        raise BrokenExercise(
            f"{exercise.name} has no solution: {exercise.solution} does not exist.",
            "Write the model answer; the stub is generated from it.",
        )
    with tempfile.TemporaryDirectory() as scratch:
        stub = Path(scratch) / "kernel.py"
        stub.write_text(make_stub(exercise.solution.read_text(encoding="utf-8"), exercise.name))
        trials = _trials(exercise, device, stub)
        results = check.run([trial.request for trial in trials], progress)
    return [_judged(exercise, t, r) for t, r in zip(trials, results, strict=True)]


def _trials(exercise: Exercise, device: str, stub: Path) -> list[_Trial]:
    def ask(kernel: Path, pretend: str | None = None, where: str = device) -> check.Request:
        return check.Request(exercise, kernel, device=where, shrink=False, pretend=pretend)

    def wrong(kernel: Path) -> _Trial:
        where = "cpu" if needs_simulator(kernel) else device
        return _Trial("wrong", kernel.stem, rejected_at(kernel).value, ask(kernel, where=where))

    return [
        _Trial("stub", "stub", "not_started", ask(stub)),
        _Trial("solution", "solution", "pass", ask(exercise.solution)),
        *(wrong(kernel) for kernel in exercise.wrong_kernels),
        *(_Trial("no_work", n, "correctness", ask(exercise.solution, n)) for n in NO_WORK),
    ]


def _judged(exercise: Exercise, trial: _Trial, result: Result) -> Verified:
    actual = _actual(result)
    problem = first_problem(result)
    detail = problem.summary if problem else ""
    if problem and problem.failure:
        case = f"{problem.failure.case}: " if problem.failure.case else ""
        detail = case + problem.failure.message
    return Verified(
        exercise=exercise.name,
        kind=trial.kind,
        kernel=trial.kernel,
        expected=trial.expected,
        actual=actual,
        ok=actual == trial.expected,
        detail=detail,
        result=result,
    )


def _actual(result: Result) -> str:
    """`pass`, `not_started`, the step that rejects, or the status when the grader is at fault."""
    if result.status is not Status.FAIL:
        return result.status.value
    step = next((s.name for s in result.steps if s.outcome is Outcome.FAIL), StepName.LOAD)
    return step.value
