"""`grader verify`: a good exercise passes the right kernel and rejects the wrong ones.

For each exercise, the stub is not_started, and the solution passes every step, in each backend in
which it has one. Every wrong kernel is rejected at the step that it names. Outputs without any work
(all zeros, a copy of the input) are rejected by every case that can reject them. Mutants of the
solution (grader.authoring.mutants) are rejected, unless the exercise declares why one of them
cannot be.
"""

from __future__ import annotations

import itertools
import math
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from grader.authoring.mutants import Mutant
from grader.authoring.trials import (
    FEW,
    REJECTED,
    Sample,
    Trial,
    asking,
    exercise_of,
    reaches_measuring,
    trials_of,
)
from grader.course import Exercise
from grader.grading import check, two_parts
from grader.machine import devices, nvml
from grader.model import (
    GraderError,
    Outcome,
    Result,
    Status,
    counted,
    first_problem,
)

BATCH = 32  # trials that one judge serves: its start takes about as long as three of them
CHECK_MEMORY = 4 << 30  # bytes of a GPU for each check beside others: twice what two contexts take
COMPILED = "compiled"  # the kind of a file of a further backend that only a GPU could run
UNSIMULATED = "not_simulated"  # the kind of a failure


@dataclass(frozen=True)
class Verified:
    """One kernel of one exercise, with its expected and its actual result.

    `kind` is stub, solution, wrong, no_work, mutant or compiled: a file in a further backend, on a
    machine without a GPU. For a mutant that the exercise declares, it is one of survivors.KINDS.
    `expected` and `actual` are `pass`, `not_started` or the step that rejects; a mutant's
    `expected` may be `rejected`. `change` is the mutant's diff. `advice` says what to do where `ok`
    is false.
    """

    exercise: str
    kind: str
    kernel: str
    expected: str
    actual: str
    ok: bool
    detail: str
    result: Result
    change: str = ""
    advice: str = ""


def _stop(exercise: Exercise, error: GraderError) -> None:
    raise error


def run(
    exercises: Sequence[Exercise],
    device: str,
    progress: Callable[[str], None],
    sample: Sample = FEW,
    broken: Callable[[Exercise, GraderError], None] = _stop,
) -> list[Verified]:
    """Verify the exercises in their order, as many kernels at a time as there are cores.

    On a GPU, all run beside each other until something is measured. Then what is measured runs, and
    each that did not come out as expected: one at a time, for other programs on the GPU disturb a
    measurement. Mutants are always simulated, where each access is checked and a race is found
    every time. `broken` receives each exercise that cannot be verified, with the error. Its results
    are left out, and the other exercises are verified. Without `broken`, the first error is raised.
    """
    faulty: set[str] = set()

    def leave_out(exercise: Exercise, error: GraderError) -> None:
        faulty.add(exercise.name)
        broken(exercise, error)

    on_gpu = device == "cuda" or (device == "auto" and devices.has_driver())
    with tempfile.TemporaryDirectory() as scratch:
        trials: list[Trial] = []
        for exercise in exercises:
            try:
                trials += trials_of(exercise, device, sample, Path(scratch) / exercise.name)
            except GraderError as error:
                leave_out(exercise, error)
        at_once = _checks_at_once() if on_gpu else _cores()
        sound = counted(len(exercises) - len(faulty), "exercises")
        many = f"{counted(len(trials), 'kernels')} of {sound}"
        progress(f"verifying with {many}, {at_once} at a time …")
        report = _reporter(progress, len(trials))
        verify_all = partial(_verify_on_gpu, progress) if on_gpu else _verify_all
        found = verify_all(trials, at_once, report, leave_out)
    return [found[t.name] for t in trials if exercise_of(t).name not in faulty]


def _verify_on_gpu(
    progress: Callable[[str], None],
    trials: Sequence[Trial],
    at_once: int,
    report: Callable[[Trial], None],
    broken: Callable[[Exercise, GraderError], None],
) -> dict[str, Verified]:
    """Run beside each other what measures nothing, and alone what measures or is not as expected.

    A judge that breaks beside others, as for want of memory, is none of the exercise's faults yet.
    """
    measured = {trial.name for trial in trials if reaches_measuring(trial)}

    def again(exercise: Exercise, error: GraderError) -> None:
        progress(f"{exercise.name}: some kernels again, one at a time: {error.message}")

    def report_whole(trial: Trial) -> None:
        if trial.name not in measured:
            report(trial)

    beside = [asking(trial, two_parts.first_part(trial.request)) for trial in trials]
    early = _verify_all(beside, at_once, report_whole, again)
    begun = {
        name: one.result
        for name, one in early.items()
        if name in measured and two_parts.has_no_fault(one.result)
    }
    found = {name: one for name, one in early.items() if one.ok and name not in measured}
    left = [
        asking(trial, two_parts.second_part(trial.request)) if trial.name in begun else trial
        for trial in trials
        if trial.name not in found
    ]
    for trial in left:
        if trial.name in early.keys() - begun.keys():
            progress(f"{trial.name} again, alone: {_unexpected(early[trial.name])}")
    late = _verify_all(left, 1, report, broken)
    whole = {
        trial.name: _judged(
            trial, two_parts.joined(trial.request, begun[trial.name], late[trial.name].result)
        )
        for trial in left
        if trial.name in begun.keys() & late.keys()
    }
    return found | late | whole


def _unexpected(one: Verified) -> str:
    return f"{one.actual} came, and {one.expected} was expected" + f" ({one.detail})" * bool(
        one.detail
    )


def _checks_at_once() -> int:
    memory = nvml.least_memory() or 0
    return max(1, min(_cores(), memory // CHECK_MEMORY))


def _cores() -> int:
    return len(os.sched_getaffinity(0))  # a job of a cluster may use some of the machine's


def _verify_all(
    trials: Sequence[Trial],
    at_once: int,
    report: Callable[[Trial], None],
    broken: Callable[[Exercise, GraderError], None],
) -> dict[str, Verified]:
    size = max(1, min(BATCH, math.ceil(len(trials) / at_once)))
    batches = [trials[i : i + size] for i in range(0, len(trials), size)]
    # The last batches start first: exercises follow puzzles and take longest. A long one at the
    # end would have one core to itself while the others are idle.
    with ThreadPoolExecutor(at_once) as pool:
        found = pool.map(lambda batch: _verify(batch, report, broken), reversed(batches))
        return {trial.name: one for batch in found for trial, one in batch}


def _reporter(progress: Callable[[str], None], total: int) -> Callable[[Trial], None]:
    """Return a function that reports a trial that has ended, on a line of its own.

    A trial that runs again is reported once. Threads may call it.
    """
    reported, lock = set[str](), threading.Lock()

    def report(trial: Trial) -> None:
        with lock:
            if trial.name not in reported:
                reported.add(trial.name)
                progress(f"{len(reported)} of {total}: {trial.name}")

    return report


def _verify(
    trials: Sequence[Trial],
    report: Callable[[Trial], None],
    broken: Callable[[Exercise, GraderError], None],
) -> list[tuple[Trial, Verified]]:
    """Run trials in one judge; where it breaks, run each exercise in a judge of its own."""
    ended = iter(trials)
    try:
        results = check.run(
            [trial.request for trial in trials],
            lambda text: None,
            lambda result: report(next(ended)),
        )
    except GraderError as error:
        of_one = itertools.groupby(trials, key=exercise_of)
        groups = [(exercise, list(some)) for exercise, some in of_one]
        if len(groups) == 1:
            broken(groups[0][0], error)
            return []
        return [one for _, some in groups for one in _verify(some, report, broken)]
    pairs = zip(trials, results, strict=True)
    return [(one, _judged(one, two_parts.of_part(one.request, result))) for one, result in pairs]


def _judged(trial: Trial, result: Result) -> Verified:
    exercise = exercise_of(trial)
    actual = _actual(result)
    rejected = trial.expected == REJECTED and result.status is Status.FAIL
    # Of several entries a file need not name the one that is rejected.
    as_expected = trial.expected in (actual, actual.partition(" of ")[0])
    compiled = _only_compiled(trial, result)
    ok = rejected or as_expected or compiled or _took_too_long(trial, result)
    return Verified(
        exercise=exercise.name,
        kind=COMPILED if compiled else trial.kind,
        kernel=trial.kernel,
        expected=trial.expected,
        actual=actual,
        ok=ok,
        detail=_detail(trial, result),
        result=result,
        change=_diff(exercise, trial.mutant) if trial.mutant else "",
        advice="" if ok else _advice(exercise, trial, result),
    )


def _took_too_long(trial: Trial, result: Result) -> bool:
    """Report whether a mutant that does more work met a time limit, as it may on a busy machine."""
    failures = [step.failure for step in result.steps if step.failure]
    return trial.kind == "slower" and [one.kind for one in failures] == ["timeout"]


def _only_compiled(trial: Trial, result: Result) -> bool:
    """Report whether all that can be known without a GPU is right of a file in a further backend.

    In the exercise's first backend the tests themselves would be unproven.
    """
    if trial.kind not in ("solution", "wrong") or result.kernel.backend is None:
        return False
    problem = first_problem(result)
    unsimulated = problem and problem.failure and problem.failure.kind == UNSIMULATED
    built = any(step.name == "compile" and step.outcome is Outcome.PASS for step in result.steps)
    return bool(result.environment.simulated and unsimulated and built)


def _detail(trial: Trial, result: Result) -> str:
    """Return why a kernel was rejected; for an output without any work, which cases it passes."""
    if trial.kind == "no_work":  # a property may have rejected what the cases let pass
        for step in result.steps:
            if step.name == "correctness" and step.outcome is Outcome.PASS:
                return step.summary
    problem = first_problem(result)
    if problem and problem.failure:
        case = f"{problem.failure.case}: " if problem.failure.case else ""
        return case + problem.failure.message
    return problem.summary if problem else ""


def _diff(exercise: Exercise, mutant: Mutant) -> str:
    return f"{exercise.solution.name}, line {mutant.line}\n- {mutant.before}\n+ {mutant.after}"


def _advice(exercise: Exercise, trial: Trial, result: Result) -> str:
    """Return the next step for an unexpected result, where the result itself does not name it."""
    if trial.kind == "no_work":
        return (
            "Give each case inputs for which this output is wrong by more than the tolerance, or "
            "state a smaller magnitude: see docs/trust.md."
        )
    if trial.mutant is None or result.status not in (Status.PASS, Status.FAIL):
        return ""
    if trial.kind == "mutant":
        return (
            "Add an edge to spec.py that distinguishes it from the solution, or declare it in "
            f"{exercise.survivors.name} with the reason why nothing can."
        )
    return (
        f"It is declared {trial.kind} in {exercise.survivors.name} but a test rejects it: "
        "remove the declaration."
    )


def _actual(result: Result) -> str:
    """Return `pass`, `not_started`, the rejecting step, or the status of a grader's fault.

    Of several entries, the step is that of the first one that failed, such as `speed of backward`.
    """
    if result.status is not Status.FAIL:
        return result.status.value
    for one in result.entries:
        if one.status is Status.FAIL:
            failed = next((s.name for s in one.steps if s.outcome is Outcome.FAIL), "load")
            return f"{failed} of {one.entry}"
    return next((s.name for s in result.steps if s.outcome is Outcome.FAIL), "load")
