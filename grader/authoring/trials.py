"""The kernels that show whether an exercise is good, and how each of them must come out.

The stub, the solutions, the wrong kernels, outputs without any work, and mutants of the solution.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
from grader.model import BrokenExercise

NO_WORK_SEED = 20  # any: results for these outputs must not change from run to run
REJECTED = "rejected"  # expected of a mutant: the step does not matter


@dataclass(frozen=True)
class Sample:
    """The mutants to try: `count` of them, drawn with `seed`; all if `count` is None.

    Mutants that are declared slower are tried only with all: they cost most, and prove least.
    """

    count: int | None
    seed: int = 0


FEW = Sample(count=6)


@dataclass(frozen=True)
class Trial:
    """One kernel to grade; the fields are as in `verify.Verified`."""

    kind: str
    kernel: str
    expected: str
    request: check.Request
    mutant: Mutant | None = None

    @property
    def name(self) -> str:
        """Name it among the trials of a run, such as `01_vector_add wrong_shifted`."""
        return f"{exercise_of(self).name} {self.kernel}"


def exercise_of(trial: Trial) -> Exercise:
    """Return the exercise of a trial that may grade one entry of it."""
    return Exercise(trial.request.exercise.folder)


def asking(trial: Trial, request: check.Request) -> Trial:
    """Return the trial with another request: a part of its check."""
    return replace(trial, request=request)


def reaches_measuring(trial: Trial) -> bool:
    """Report whether a kernel is expected to reach a step that needs the GPU to itself."""
    steps = steps_of(exercise_of(trial).any_spec)
    early = itertools.takewhile(lambda step: not step.alone, steps)
    names = {"not_started", *(step.name for step in early)}
    on_cpu = trial.request.options.device == "cpu"
    return not on_cpu and trial.expected.partition(" of ")[0] not in names


def trials_of(exercise: Exercise, device: str, sample: Sample, scratch: Path) -> list[Trial]:
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
    for one in exercise.in_all_backends:
        stub = scratch / one.file
        stub.write_text(stubs.stub_of(one, kind_of(one.any_spec).stub), encoding="utf-8")
        yield f"stub, {one.backend}" if one.backend else "stub", stub


def _trials(exercise: Exercise, device: str, own_stubs: Sequence[tuple[str, Path]]) -> list[Trial]:
    def request_for(kernel: Path, where: str = device) -> check.Request:
        return check.Request(exercise, kernel, Options(device=where, shrink=False))

    def wrong(kernel: Path) -> Trial:
        where = "cpu" if needs_simulator(kernel) else device
        return Trial(
            "wrong", kernel.stem, _rejecting_step(exercise, kernel), request_for(kernel, where)
        )

    def no_work(part: Exercise, pretended: str) -> Trial:
        options = Options(seed=NO_WORK_SEED, device=device, shrink=False, pretend=pretended)
        request = check.Request(part, part.solution, options)
        name = pretended if part.entry is None else f"{pretended} of {part.entry}"
        return Trial("no_work", name, "correctness", request)

    kind = kind_of(exercise.any_spec)
    return [
        *(Trial("stub", name, "not_started", request_for(path)) for name, path in own_stubs),
        *(Trial("solution", name, "pass", request_for(path)) for name, path in exercise.solutions),
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
) -> list[Trial]:
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

    def trial(mutant: Mutant) -> Trial:
        number = made.index(mutant) + 1
        kernel = scratch / f"mutant_{number}_{mutant.operator}.py"
        kernel.write_text(mutant.source, encoding="utf-8")
        request = check.Request(exercise, kernel, Options(device=where, shrink=False))
        known = declared.get(mutant)
        kind, expected = (known.kind, "pass") if known else ("mutant", REJECTED)
        name = f"mutant {number}: {mutant.operator}"
        return Trial(kind, name, expected, request, mutant)

    order = ("mutant", *survivors.KINDS)
    return sorted(map(trial, chosen), key=lambda t: order.index(t.kind))
