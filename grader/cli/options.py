"""Options that several commands take, and the exercises and files that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from grader.course import Exercise, catalog
from grader.model import Spec, UsageError

MOST_GIB = 1 << 20  # of --gpu-memory: far more than a GPU has


class Device(StrEnum):
    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


class Demand(StrEnum):
    SPEED = "speed"


def completed(incomplete: str) -> list[str]:
    """Return the exercises that a shell proposes for the beginning of a name."""
    try:
        names = [exercise.name for exercise in catalog.exercises(catalog.find_root())]
    except UsageError:
        return []
    return [name for name in names if name.startswith(incomplete)]


Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME|PATH]...",
        help="Exercises: a name, its number, or a path.",
        autocompletion=completed,
    ),
]
OneName = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="An exercise: a name, its number, or a path.", autocompletion=completed
    ),
]
All = Annotated[bool, typer.Option("--all", help="Every exercise of the course.")]
OnDevice = Annotated[
    Device, typer.Option(help="Where kernels run; auto takes a GPU if there is one.")
]
GpuMemory = Annotated[
    float | None,
    typer.Option(
        min=0.1,
        max=MOST_GIB,
        metavar="GIB",
        help="Time sizes that fit a GPU with this much memory.",
    ),
]
Decided = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The file that `grader leaderboard invalidate` wrote."),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object a line, and nothing else.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Leave nothing out.")]


Language = Annotated[
    str | None,
    typer.Option("--backend", metavar="NAME", help="The kernel file in this language: cuda."),
]


def folder_of(name: str) -> Exercise:
    """Return the exercise that a command line names, the whole one for one of its entries."""
    return replace(catalog.find_entry(catalog.find_root(), name), entry=None)


def in_bytes(gibibytes: float | None) -> int | None:
    return None if gibibytes is None else int(gibibytes * 2**30)


def selected(names: Sequence[str] | None, every: bool) -> list[Exercise]:
    """Return the exercises that a command line names, each once. Raises UsageError."""
    named = _named(names, every, catalog.find)
    return list({exercise.name: exercise for exercise in named}.values())


def selected_files(names: Sequence[str] | None, every: bool) -> list[Exercise]:
    """Return each file that a command line names once, or one entry of it. Raises UsageError.

    An exercise has a file for each of its languages.
    """
    return _each_file_once(_named(names, every, catalog.find_entry))


def _each_file_once(exercises: Iterable[Exercise]) -> list[Exercise]:
    return list({(one.name, one.backend): one for one in exercises}.values())


def _named(
    names: Sequence[str] | None, every: bool, find: Callable[[Path, str], Exercise]
) -> list[Exercise]:
    if every and names:
        raise UsageError(
            "--all and names of exercises exclude each other.", "Give --all, or names."
        )
    if not every and not names:
        raise UsageError(
            "No exercise is named.", "Name one (`grader list` shows them), or give --all."
        )
    root = catalog.find_root()
    chosen = catalog.exercises(root) if every else [find(root, name) for name in names or ()]
    if not chosen:
        raise UsageError(f"The course in {root} has no exercises.", "Add a folder with a spec.py.")
    return chosen


def written_in(exercises: Sequence[Exercise], backend: str | None, every: bool) -> list[Exercise]:
    """Return the exercises in one of their languages; of `every` exercise, those that allow it.

    Raises UsageError if no exercise allows it, or if a named one does not.
    """
    if backend is None:
        return list(exercises)
    allowing = [one for one in exercises if backend in _backends(one)]
    if not allowing or (len(allowing) < len(exercises) and not every):
        one = next(each for each in exercises if each not in allowing)
        raise UsageError(
            f"{one.name} is not written in {backend!r}.",
            f"It may be written in {', '.join(_backends(one))}."
            if _backends(one)
            else "Leave out --backend.",
        )
    return _each_file_once(one.written_in(backend) for one in allowing)


def _backends(exercise: Exercise) -> tuple[str, ...]:
    spec = exercise.any_spec
    return spec.backends if isinstance(spec, Spec) else ()


def kernel_file(exercise: Exercise, given: Path | None, solution: bool) -> Path:
    if not solution:
        return given or exercise.kernel
    if not exercise.solution.exists():
        raise UsageError(
            f"There is no solution {exercise.solution}.",
            "A learner's copy of a course has none: grade your own kernel.",
        )
    return exercise.solution


@contextmanager
def permitted(exercise: Exercise) -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise UsageError(
            f"The kernel file {exercise.kernel} cannot be read or written: {error.strerror}.",
            "Check its permissions, and those of its folder.",
        ) from None
