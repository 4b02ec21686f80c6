"""`grader verify`: a good exercise passes the right kernel and rejects the wrong ones.

For each exercise, the stub is not_started, and the solution passes every step, in each backend in
which it has one. Every wrong kernel
is rejected at the step that it names. Outputs without any work (all zeros, a copy of the input) are
rejected by every case that can reject them. Mutants of the solution (grader.authoring.mutants) are
rejected, unless the exercise declares why one of them cannot be.
"""

from __future__ import annotations

import itertools
import math
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from grader import backends
from grader.authoring import mutants, survivors
from grader.authoring.mutants import Mutant
from grader.course import (
    Exercise,
    needs_simulator,
    rejected_at,
    rejected_entry,
    stubs,
    text_of,
)
from grader.grading import Options, check, has_step, kind_of, steps_of
from grader.machine import devices
from grader.model import (
    BrokenExercise,
    GraderError,
    Outcome,
    Result,
    Status,
    counted,
    first_problem,
)

NO_WORK_SEED = 20  # any: results for these outputs must not change from run to run
BATCH = 32  # trials that one judge serves: its start takes about as long as three of them
COMPILED = "compiled"  # the kind of a file of a further backend that only a GPU could run
UNSIMULATED = "not_simulated"  # the kind of a failure
REJECTED = "rejected"  # expected of a mutant: the step does not matter


@dataclass(frozen=True)
class Sample:
    """The mutants to try: `count` of them, drawn with `seed`, or all for None.

    Mutants that are declared slower are tried only with all: they cost most, and prove least.
    """

    count: int | None
    seed: int = 0


FEW = Sample(count=6)


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


@dataclass(frozen=True)
class _Trial:
    kind: str
    kernel: str
    expected: str
    request: check.Request
    mutant: Mutant | None = None


def _stop(exercise: Exercise, error: GraderError) -> None:
    raise error


def run(
    exercises: Sequence[Exercise],
    device: str,
    progress: Callable[[str], None],
    sample: Sample = FEW,
    broken: Callable[[Exercise, GraderError], None] = _stop,
) -> list[Verified]:
    """Verify the exercises in their order; on the CPU as many at a time as there are cores.

    Mutants are always simulated, where each access is checked and a race is found every time.
    `broken` receives each exercise that cannot be verified, with the error. Its results are left
    out, and the other exercises are verified. Without `broken`, the first error is raised.
    """
    faulty: set[str] = set()

    def leave_out(exercise: Exercise, error: GraderError) -> None:
        faulty.add(exercise.name)
        broken(exercise, error)

    on_gpu = device == "cuda" or (device == "auto" and devices.has_driver())
    at_once = 1 if on_gpu else os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(at_once) as pool:
        trials: list[_Trial] = []
        for exercise in exercises:
            try:
                trials += _all_trials(exercise, device, sample, Path(scratch) / exercise.name)
            except GraderError as error:
                leave_out(exercise, error)
        size = max(1, min(BATCH, math.ceil(len(trials) / at_once)))
        batches = [trials[i : i + size] for i in range(0, len(trials), size)]
        sound = counted(len(exercises) - len(faulty), "exercises")
        many = f"{counted(len(trials), 'kernels')} of {sound}"
        progress(f"verifying with {many}, {at_once} at a time …")
        report = _reporter(progress, len(trials))
        # The last batches start first: exercises follow puzzles and take longest. A long one at
        # the end would have one core to itself while the others are idle.
        verified = list(
            pool.map(lambda batch: _verify(batch, report, leave_out), reversed(batches))
        )
    everything = itertools.chain.from_iterable(reversed(verified))
    return [one for one in everything if one.exercise not in faulty]


def _reporter(progress: Callable[[str], None], total: int) -> Callable[[_Trial], None]:
    """Return a function that reports a trial that has ended, on a line of its own.

    A trial that runs again, because its judge broke, is reported once. Threads may call it.
    """
    reported, lock = set[str](), threading.Lock()

    def report(trial: _Trial) -> None:
        name = f"{_exercise_of(trial).name} {trial.kernel}"
        with lock:
            if name not in reported:
                reported.add(name)
                progress(f"{len(reported)} of {total}: {name}")

    return report


def _verify(
    trials: Sequence[_Trial],
    report: Callable[[_Trial], None],
    broken: Callable[[Exercise, GraderError], None],
) -> list[Verified]:
    """Run trials in one judge; where it breaks, run each exercise in a judge of its own."""
    ended = iter(trials)
    try:
        results = check.run(
            [trial.request for trial in trials],
            lambda text: None,
            lambda result: report(next(ended)),
        )
    except GraderError as error:
        of_one = itertools.groupby(trials, key=_exercise_of)
        groups = [(exercise, list(some)) for exercise, some in of_one]
        if len(groups) == 1:
            broken(groups[0][0], error)
            return []
        return [one for _, some in groups for one in _verify(some, report, broken)]
    return [_judged(trial, result) for trial, result in zip(trials, results, strict=True)]


def _exercise_of(trial: _Trial) -> Exercise:
    """Return the exercise of a trial that may grade one entry of it."""
    return Exercise(trial.request.exercise.folder)


def _all_trials(exercise: Exercise, device: str, sample: Sample, scratch: Path) -> list[_Trial]:
    """Build the trials of one exercise, and write the files that they need to `scratch`."""
    if not exercise.solution.is_file():
        raise BrokenExercise(
            f"{exercise.name} has no solution: {exercise.solution} does not exist.",
            "Write the solution; the stub is generated from it.",
        )
    source = text_of(exercise.solution)
    scratch.mkdir()
    kind = kind_of(exercise.any_spec)
    trials = _trials(exercise, device, list(_write_stubs(exercise, scratch)))
    return (
        trials + _mutant_trials(exercise, source, device, sample, scratch)
        if kind.mutants
        else trials
    )


def _write_stubs(exercise: Exercise, scratch: Path) -> Iterator[tuple[str, Path]]:
    """Write the stub of each backend, and yield it with its name."""
    for one in exercise.in_all_backends:
        stub = scratch / one.file
        stub.write_text(stubs.stub_of(one, kind_of(one.any_spec).stub), encoding="utf-8")
        yield f"stub, {one.backend}" if one.backend else "stub", stub


def _trials(exercise: Exercise, device: str, own_stubs: Sequence[tuple[str, Path]]) -> list[_Trial]:
    def request_for(kernel: Path, where: str = device) -> check.Request:
        return check.Request(exercise, kernel, Options(device=where, shrink=False))

    def wrong(kernel: Path) -> _Trial:
        where = "cpu" if needs_simulator(kernel) else device
        return _Trial(
            "wrong", kernel.stem, _rejecting_step(exercise, kernel), request_for(kernel, where)
        )

    def no_work(part: Exercise, pretended: str) -> _Trial:
        options = Options(seed=NO_WORK_SEED, device=device, shrink=False, pretend=pretended)
        request = check.Request(part, part.solution, options)
        name = pretended if part.entry is None else f"{pretended} of {part.entry}"
        return _Trial("no_work", name, "correctness", request)

    kind = kind_of(exercise.any_spec)
    return [
        *(_Trial("stub", name, "not_started", request_for(path)) for name, path in own_stubs),
        *(_Trial("solution", name, "pass", request_for(path)) for name, path in exercise.solutions),
        *(wrong(kernel) for kernel in exercise.wrong_kernels),
        # Of each entry, because one that is rejected would hide another that is not.
        *(no_work(part, n) for part in exercise.parts for n in kind.no_work(part.any_spec)),
    ]


def _rejecting_step(exercise: Exercise, kernel: Path) -> str:
    """Return the step that a file names, such as `speed` or `speed of backward`.

    Raises BrokenExercise for an unknown step or entry.
    """
    name, entry = rejected_at(kernel), rejected_entry(kernel)
    entries = [part.entry for part in exercise.parts]
    if entry is not None and entry not in entries:
        raise BrokenExercise(
            f"{kernel} names the entry {entry!r}, which its exercise does not have.",
            f"Its entries are {', '.join(map(str, entries))}."
            if exercise.any_spec.entries[1:]
            else "Write `Rejected at:` and the step alone: the exercise has one entry.",
        )
    if not has_step(exercise.any_spec, name):
        raise BrokenExercise(
            f"{kernel} names the step {name!r}, which its exercise does not have.",
            f"Its steps are {', '.join(step.name for step in steps_of(exercise.any_spec))}.",
        )
    return name if entry is None else f"{name} of {entry}"


def _mutant_trials(
    exercise: Exercise, source: str, device: str, sample: Sample, scratch: Path
) -> list[_Trial]:
    made = mutants.make(source)
    path = exercise.survivors
    declared = survivors.assign(made, survivors.read(path), path)
    chosen = list(made)
    if sample.count is not None:
        slower = {mutant for mutant, known in declared.items() if known.kind == "slower"}
        quick = [mutant for mutant in made if mutant not in slower]
        chosen = mutants.sample(quick, sample.count, sample.seed)

    backend = kind_of(exercise.any_spec).backend(exercise.any_spec)
    dry = backend is not None and backends.find(backend).can.dry_run
    where = device if dry else "cpu"

    def trial(mutant: Mutant) -> _Trial:
        number = made.index(mutant) + 1
        kernel = scratch / f"mutant_{number}_{mutant.operator}.py"
        kernel.write_text(mutant.source, encoding="utf-8")
        request = check.Request(exercise, kernel, Options(device=where, shrink=False))
        known = declared.get(mutant)
        kind, expected = (known.kind, "pass") if known else ("mutant", REJECTED)
        name = f"mutant {number}: {mutant.operator}"
        return _Trial(kind, name, expected, request, mutant)

    order = ("mutant", *survivors.KINDS)
    return sorted(map(trial, chosen), key=lambda t: order.index(t.kind))


def _judged(trial: _Trial, result: Result) -> Verified:
    exercise = _exercise_of(trial)
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


def _took_too_long(trial: _Trial, result: Result) -> bool:
    """Report whether a mutant that does more work met a time limit, as it may on a busy machine."""
    failures = [step.failure for step in result.steps if step.failure]
    return trial.kind == "slower" and [one.kind for one in failures] == ["timeout"]


def _only_compiled(trial: _Trial, result: Result) -> bool:
    """Report whether all that can be known without a GPU is right of a file in a further backend.

    In the exercise's first backend the tests themselves would be unproven.
    """
    if trial.kind not in ("solution", "wrong") or result.kernel.backend is None:
        return False
    problem = first_problem(result)
    unsimulated = problem and problem.failure and problem.failure.kind == UNSIMULATED
    built = any(step.name == "compile" and step.outcome is Outcome.PASS for step in result.steps)
    return bool(result.environment.simulated and unsimulated and built)


def _detail(trial: _Trial, result: Result) -> str:
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


def _advice(exercise: Exercise, trial: _Trial, result: Result) -> str:
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
