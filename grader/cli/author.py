"""The commands of an author of exercises: new, stub, verify."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from grader.cli import options, say
from grader.course import Exercise, stubs
from grader.model import BrokenExercise, GraderError, UsageError, counted, save_file

if TYPE_CHECKING:
    from grader.authoring import Sample, Verified


def make_new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The new name, such as 40_my_op or p40_my_op.")
    ],
    like: Annotated[str | None, typer.Option(metavar="NAME", help="The exercise to copy.")] = None,
) -> None:
    """Begin an exercise as a working copy of another one."""
    from grader.authoring import new
    from grader.course import catalog
    from grader.reports import drafted

    draft = new.draft(catalog.find_root(), name, like)
    new.write(draft)
    say.show_text(drafted.report(draft), end="")


def write_stubs(
    names: options.Names = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; fail if a kernel.py differs from its stub."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a kernel.py that somebody has worked on.")
    ] = False,
) -> None:
    """Make kernel.py from the solution, for the named exercises or for all."""
    named = options.selected(names, every=not names)
    exercises = [one for exercise in named for one in exercise.in_all_backends]
    if check:
        drifted = [one for one in exercises if stubs.drifted(one, _maker(one))]
        if drifted:
            files = ", ".join(f"{one.name}: {one.file}" for one in drifted)
            again = " ".join(dict.fromkeys(one.name for one in drifted))
            raise BrokenExercise(
                f"{files} differs from the stub of its solution.",
                f"`grader stub {again} --force` writes it again.",
            )
        typer.echo(f"{counted(len(exercises), 'stubs')}, each as its solution makes it.")
        return
    refused = []
    for exercise in exercises:
        try:
            with options.permitted(exercise):
                written = stubs.write(exercise, force, _maker(exercise))
        except UsageError as error:
            refused.append(error)
        else:
            typer.echo(f"{exercise.kernel}: {'written' if written else 'unchanged'}")
    if refused:
        raise UsageError(
            "\n       ".join(error.message for error in refused),
            "\n      ".join(error.next_step for error in refused),
        )


def _maker(exercise: Exercise) -> stubs.StubMaker:
    from grader.grading import kind_of

    return kind_of(exercise.any_spec).stub


def verify(
    names: options.Names = None,
    every: options.All = False,
    device: options.OnDevice = options.Device.AUTO,
    mutants: Annotated[
        str | None,
        typer.Option(metavar="N|all", help="Mutants to try for each solution, instead of 6."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Choose other mutants.")] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--changed-since",
            metavar="COMMIT",
            help="Verify what changed since then, and a sample of the rest.",
        ),
    ] = None,
    few: Annotated[
        int | None,
        typer.Option("--sample", min=1, help="Verify N exercises, others each day."),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the findings as JUnit XML.")
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Only time the solutions on a GPU, and propose gates."),
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(min=3, max=100, help="With --calibrate: checks of each, instead of 5."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Prove that exercises tell right from wrong. Takes up to two minutes for each."""
    if calibrate:
        unused = {"--mutants": mutants, "--seed": seed, "--junit": junit}
        _reject_beside_calibrate(device, {**unused, "--changed-since": since, "--sample": few})
        _propose_gates(names, every, runs, json)
    if runs is not None:
        raise UsageError("--runs is for --calibrate.", "Give both, or neither.")
    sample = _sample(mutants, seed)
    exercises = _chosen(names, every, since, few)
    verified, broken = _verified(exercises, device, sample, junit)
    _show_verified(verified, json)
    raise typer.Exit(_exit_code(exercises, verified, broken))


def _chosen(
    names: list[str] | None, every: bool, since: str | None, few: int | None
) -> list[Exercise]:
    """Return the exercises to verify, and print them where this command chose them."""
    if since is None and few is None:
        return _with_solutions(names, every)
    from grader.authoring import choose

    exercises = _with_solutions(names, every or not names)
    today = datetime.now(UTC).date().toordinal()
    chosen = choose(exercises, since, few, today)
    say.message(chosen.sentence)
    return list(chosen.exercises)


def _show_verified(verified: list[Verified], json: bool) -> None:
    from pydantic import TypeAdapter

    from grader.authoring import Verified
    from grader.reports import verification

    if json:
        for one in verified:
            say.write_json(TypeAdapter(Verified).dump_json(one, by_alias=True))
    else:
        say.show(verification.verification(verified, say.width()))


def _exit_code(
    exercises: list[Exercise], verified: list[Verified], broken: dict[str, GraderError]
) -> int:
    """Name the exercises that cannot be verified, and return the exit code: 0 if all are sound."""
    names = [exercise.name for exercise in exercises]
    for name in filter(broken.__contains__, names):
        say.message(f"error: {name} cannot be verified: {broken[name].message}")
        if broken[name].next_step:
            say.message(f"next: {broken[name].next_step}")
    complete = {one.exercise for one in verified} | broken.keys() == set(names)
    sound = complete and all(one.ok for one in verified)
    codes = [error.exit_code for error in broken.values()]
    return max([*codes, 0 if sound else BrokenExercise.exit_code])


def _sample(mutants: str | None, seed: int | None) -> Sample:
    from grader.authoring import FEW, Sample

    if mutants not in (None, "all") and not (mutants.isascii() and mutants.isdigit()):
        raise UsageError(f"--mutants {mutants!r} is not a number.", "Give a number, or all.")
    count = None if mutants == "all" else int(mutants or FEW.count or 0)
    return Sample(count, seed or 0)


def _verified(
    exercises: list[Exercise], device: options.Device, sample: Sample, junit: Path | None
) -> tuple[list[Verified], dict[str, GraderError]]:
    from grader.authoring import verify
    from grader.reports import junit_verify

    names = [exercise.name for exercise in exercises]
    if junit is not None:  # a run that is killed leaves this file, in which nothing is verified
        save_file(junit, junit_verify.junit(names, []))
    broken: dict[str, GraderError] = {}

    def note(exercise: Exercise, error: GraderError) -> None:
        broken[exercise.name] = error

    with say.progress() as progress:
        verified = verify.run(exercises, device.value, progress, sample, note)
    if junit is not None:
        faults = {name: error.message for name, error in broken.items()}
        save_file(junit, junit_verify.junit(names, verified, faults))
    return verified, broken


def _with_solutions(names: list[str] | None, every: bool) -> list[Exercise]:
    """Return the named exercises. Raises UsageError in a learner's copy, which has no solutions.

    In a course with solutions, an exercise without one is broken.
    """
    exercises = options.selected(names, every)
    if not (folder := exercises[0].answers.parent).is_dir():
        raise UsageError(
            f"There is no folder {folder}: a learner's copy of a course has no "
            "solutions to verify.",
            "Run this in the course from which the copy was made.",
        )
    return exercises


def _reject_beside_calibrate(device: options.Device, given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value is not None:
            raise UsageError(
                f"--calibrate times solutions and verifies nothing: it does not take {option}.",
                "Run `grader verify` twice: without --calibrate, and with it.",
            )
    if device is options.Device.CPU:
        raise UsageError(
            "--calibrate measures speed, which needs a GPU.", "Leave out --device cpu."
        )


def _propose_gates(names: list[str] | None, every: bool, runs: int | None, json: bool) -> NoReturn:
    from grader.authoring import calibrate
    from grader.grading import with_step
    from grader.reports import calibration

    exercises = _with_solutions(names, every)
    exercises = [part for exercise in exercises for part in exercise.parts]
    if every:  # the speed of puzzles is not graded
        exercises = with_step(exercises, "speed")
    if not exercises:
        raise UsageError("No exercise of this course grades speed.", "Add a scored case.")
    with say.progress() as progress:
        calibrated = calibrate.run(exercises, runs or calibrate.RUNS, progress)
    if json:
        for one in calibrated:
            say.write_json(one.model_dump_json().encode())
    else:
        say.show_text(calibration.report(calibrated, say.width()), end="")
    raise typer.Exit(calibrate.exit_code(calibrated))
