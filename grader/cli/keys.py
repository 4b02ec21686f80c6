"""The command that makes the keys of a course: `grader keys new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.deliver import make_folder
from grader.model import UsageError

keys = typer.Typer(help="Keys that a course is run with.", no_args_is_help=True)

PRIVATE, PUBLIC, COURSE = "private.pem", "public.pem", "course.key"


@keys.command()
def new(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the three files go.")],
) -> None:
    """Make the pair of keys that signs results, and the course key that pseudonyms come from."""
    from grader.classroom import signing
    from grader.classroom.board.course_key import new_course_key

    files = [out / name for name in (PRIVATE, PUBLIC, COURSE)]
    for file in files:
        if file.exists():
            raise UsageError(
                f"There is a key already: {file}.",
                "Name another folder: a key that is overwritten cannot be made again.",
            )
    make_folder(out)
    name = signing.new_key(files[0], files[1])
    new_course_key(files[2])
    typer.echo(f"{files[0]}  signs results: keep it secret, and away from where kernels run")
    typer.echo(f"{files[1]}  lets anybody check them; its fingerprint is {name}")
    typer.echo(f"{files[2]}  makes pseudonyms: keep it secret, and keep it for the whole course")
