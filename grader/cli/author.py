"""The commands of an author of exercises: new, stub, verify."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from grader.cli import options, say
from grader.course import Exercise, stubs
from grader.model import BrokenExercise, GraderError, UsageError, counted, save_file

if TYPE_CHECKING:
    from grader.authoring import Sample, Verified


def make_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as 40_my_op, or p40_my_op.")],
    like: Annotated[
        str | None, typer.Option(metavar="NAME", help="The exercise to begin as a copy of.")
    ] = None,
) -> None:
    """Begin an exercise as a working copy of another one."""
    from grader.authoring import new
    from grader.course import catalog
    from grader.reports import drafted

    made = new.draft(catalog.find_root(), name, like)
    new.write(made)
    say.show_text(drafted.report(made), end="")


def write_stubs(
    names: options.Names = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail where a stub has drifted.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a kernel.py that was worked on.")
    ] = False,
) -> None:
    """Make each kernel.py, or those named, from the solutions."""
    exercises = options.selected(names, every=not names)
    if check:
        drifted = [one.name for one in exercises if stubs.drifted(one, _maker(one))]
        if drifted:
            raise BrokenExercise(
                f"{', '.join(drifted)}: kernel.py is not the stub that the solution makes.",
                f"`grader stub {' '.join(drifted)} --force` writes it again.",
            )
        typer.echo(f"{counted(len(exercises), 'stubs')}, each as its solution makes it.")
        return
    refused = []
    for exercise in exercises:
        try:
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
        typer.Option(metavar="N|all", help="Try so many mutants of each solution, not 6."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Draw another choice of mutants.")] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write what was found as JUnit XML.")
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Only time the solutions on a GPU: propose gates.")
    ] = False,
    runs: Annotated[
        int | None, typer.Option(min=3, max=100, help="Checks of each, for --calibrate, not 5.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Prove that exercises tell right from wrong, in a minute or two for each."""
    if calibrate:
        _must_stand_alone(device, {"--mutants": mutants, "--seed": seed, "--junit": junit})
        _propose_gates(names, every, runs, json)
    if runs is not None:
        raise UsageError("--runs is for --calibrate.", "Give both, or neither.")
    sample = _sample(mutants, seed)
    exercises = _with_solutions(names, every)
    verified, broken = _verified(exercises, device, sample, junit)
    from pydantic import TypeAdapter

    from grader.authoring import Verified
    from grader.reports import verification

    if json:
        for one in verified:
            say.write_json(TypeAdapter(Verified).dump_json(one, by_alias=True))
    else:
        say.show(verification.verification(verified, say.width()))
    wanted = [exercise.name for exercise in exercises]
    for name in filter(broken.__contains__, wanted):
        say.tell(f"error: {name} cannot be verified: {broken[name].message}")
        if broken[name].next_step:
            say.tell(f"next: {broken[name].next_step}")
    complete = {one.exercise for one in verified} | broken.keys() == set(wanted)
    sound = complete and all(one.ok for one in verified)
    codes = [error.exit_code for error in broken.values()]
    raise typer.Exit(max([*codes, 0 if sound else BrokenExercise.exit_code]))


def _sample(mutants: str | None, seed: int | None) -> Sample:
    """Read which mutants are tried. Raises UsageError."""
    from grader.authoring import verify

    if mutants not in (None, "all") and not (mutants.isascii() and mutants.isdigit()):
        raise UsageError(f"--mutants {mutants!r} is no number.", "Give a number, or all.")
    count = None if mutants == "all" else int(mutants or verify.FEW.count or 0)
    return verify.Sample(count, seed or 0)


def _verified(
    exercises: list[Exercise], device: options.Device, sample: Sample, junit: Path | None
) -> tuple[list[Verified], dict[str, GraderError]]:
    """Verify, and return what was found with the exercises that cannot be verified, by name."""
    from grader.authoring import verify
    from grader.reports import junit_verify

    wanted = [exercise.name for exercise in exercises]
    if junit is not None:  # as if nothing were found, which is what a run that is killed leaves
        save_file(junit, junit_verify.junit(wanted, []))
    broken: dict[str, GraderError] = {}

    def note(exercise: Exercise, error: GraderError) -> None:
        broken[exercise.name] = error

    with say.progress() as progress:
        verified = verify.run(exercises, device.value, progress, sample, note)
    if junit is not None:
        faults = {name: error.message for name, error in broken.items()}
        save_file(junit, junit_verify.junit(wanted, verified, faults))
    return verified, broken


def _with_solutions(names: list[str] | None, every: bool) -> list[Exercise]:
    """The exercises that are named. Raises UsageError in a learner's copy, which has no solutions.

    In a course that has some, an exercise without one is broken.
    """
    exercises = options.selected(names, every)
    if not (answers := exercises[0].answers.parent).is_dir():
        raise UsageError(
            f"There is no folder {answers}: a learner's copy of a course has no solutions, and "
            "nothing to verify.",
            "Run this in the course that it was made from.",
        )
    return exercises


def _must_stand_alone(device: options.Device, given: Mapping[str, object]) -> None:
    """Raises UsageError for options that make no sense beside --calibrate."""
    for option, value in given.items():
        if value is not None:
            raise UsageError(
                f"--calibrate times solutions and verifies nothing: {option} has no place there.",
                "Run `grader verify` once without --calibrate and once with it.",
            )
    if device is options.Device.CPU:
        raise UsageError(
            "--calibrate measures speed, which a CPU cannot tell.", "Leave --device cpu out."
        )


def _propose_gates(names: list[str] | None, every: bool, runs: int | None, json: bool) -> NoReturn:
    from grader.authoring import calibrate
    from grader.grading import with_step
    from grader.reports import calibration

    exercises = _with_solutions(names, every)
    if every:  # of the puzzles, speed is not graded
        exercises = with_step(exercises, "speed")
    if not exercises:
        raise UsageError("The speed of no exercise of this course is graded.", "Add a scored case.")
    with say.progress() as progress:
        found = calibrate.run(exercises, runs or calibrate.RUNS, progress)
    if json:
        for one in found:
            say.write_json(one.model_dump_json().encode())
    else:
        say.show_text(calibration.report(found, say.width()), end="")
    raise typer.Exit(calibrate.exit_code(found))
