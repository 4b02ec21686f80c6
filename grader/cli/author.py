"""The commands of an author of exercises: new, stub, verify."""

from __future__ import annotations

from typing import Annotated

import typer

from grader import stub
from grader.cli import options, say
from grader.errors import BrokenExercise, UsageError


def make_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as 40_my_op, or p40_my_op.")],
    like: Annotated[
        str | None, typer.Option(metavar="NAME", help="The exercise to begin as a copy of.")
    ] = None,
) -> None:
    """Begin an exercise as a working copy of another one."""
    from grader import course, new
    from grader.render import drafted

    made = new.draft(course.find_root(), name, like)
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
        drifted = [exercise.name for exercise in exercises if stub.drifted(exercise)]
        if drifted:
            raise BrokenExercise(
                f"{', '.join(drifted)}: kernel.py is not the stub that the solution makes.",
                f"`grader stub {' '.join(drifted)} --force` writes it again.",
            )
        typer.echo(f"{len(exercises)} stubs are what their solutions make of them.")
        return
    refused = []
    for exercise in exercises:
        try:
            written = stub.write(exercise, force)
        except UsageError as error:
            refused.append(error)
        else:
            typer.echo(f"{exercise.kernel}: {'written' if written else 'unchanged'}")
    if refused:
        raise UsageError(
            "\n       ".join(error.message for error in refused),
            "\n      ".join(error.next_step for error in refused),
        )


def verify(
    names: options.Names = None,
    every: options.All = False,
    device: options.OnDevice = options.Device.AUTO,
    mutants: Annotated[
        str, typer.Option(metavar="N|all", help="Try so many mutants of each solution.")
    ] = "6",
    seed: Annotated[int, typer.Option(min=0, help="Draw another choice of mutants.")] = 0,
    json: options.Json = False,
) -> None:
    """Prove that exercises tell right from wrong."""
    if mutants != "all" and not (mutants.isascii() and mutants.isdigit()):
        raise UsageError(f"--mutants {mutants!r} is no number.", "Give a number, or all.")
    exercises = options.selected(names, every)
    from pydantic import TypeAdapter

    from grader import verify
    from grader.render import terminal

    with say.progress() as progress:
        sample = verify.Sample(None if mutants == "all" else int(mutants), seed)
        verified = verify.run(exercises, device.value, progress, sample)
    if json:
        for one in verified:
            say.write_json(TypeAdapter(verify.Verified).dump_json(one, by_alias=True))
    else:
        say.show(terminal.verification(verified, say.width()))
    seen = {one.exercise for one in verified}
    complete = seen == {exercise.name for exercise in exercises}
    raise typer.Exit(
        0 if complete and all(one.ok for one in verified) else BrokenExercise.exit_code
    )
