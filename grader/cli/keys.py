"""The command that makes the keys of a course: `grader keys new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.deliver import make_folder
from grader.model import UsageError

keys = typer.Typer(help="The keys of a course.", no_args_is_help=True)

PRIVATE, PUBLIC, COURSE = "private.pem", "public.pem", "course.key"


@keys.command()
def new(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder for the three files.")],
) -> None:
    """Make the pair of keys that signs results, and the course key that makes pseudonyms."""
    from grader.classroom import signing
    from grader.classroom.board.course_key import new_course_key

    files = [out / name for name in (PRIVATE, PUBLIC, COURSE)]
    for file in files:
        if file.exists():
            raise UsageError(
                f"{file} exists already.",
                "Name another folder: an overwritten key cannot be made again.",
            )
    make_folder(out)
    name = signing.new_key(files[0], files[1])
    new_course_key(files[2])
    typer.echo(f"{files[0]}  signs results: keep it secret, and away from where kernels run")
    typer.echo(f"{files[1]}  lets anybody check signatures; its fingerprint is {name}")
    typer.echo(
        f"{files[2]}  makes pseudonyms: keep it secret, and do not lose it before the course ends"
    )
