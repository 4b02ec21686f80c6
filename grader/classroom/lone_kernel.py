"""A lone kernel file that was handed in, without the folders of a course: whose kernel it is.

The file is read as text, and nothing of it runs.
"""

from __future__ import annotations

import ast
import os
import stat
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from grader.course import Exercise
from grader.grading import LARGEST_FILE
from grader.model import BrokenExercise, Spec, texts


@dataclass(frozen=True)
class Lone:
    """The file and the exercise that it is graded as, or none with the reason, a sentence."""

    path: Path | None = None
    exercise: Exercise | None = None
    said: str = ""


def lone_kernel(exercises: Sequence[Exercise], folder: Path) -> Lone:
    """Find the kernel file at the top of a folder, and the exercise that is meant.

    If only one exercise is graded it is that one, else the one whose entry the file defines.
    """
    suffixes = {Path(file).suffix for one in exercises for file in _files(one)}
    found = [path for path in _plain_files(folder) if path.suffix in suffixes]
    named = [path for path in found if path.name.startswith("kernel.")]
    chosen = found if len(found) == 1 else named
    if len(chosen) != 1:
        many = f"It has {len(found)} kernel files beside each other." if found else ""
        return Lone(said=many)
    (path,) = chosen
    name = texts.one_line(path.name, 80)
    if len(exercises) == 1:
        return Lone(path, exercises[0], f"{name} is graded as {exercises[0].name}")
    defined = _functions(path)
    fitting = {one.name: (one, e) for one in exercises for e in entries_of(one) if e in defined}
    if len(fitting) == 1:
        ((exercise, entry),) = fitting.values()
        return Lone(path, exercise, f"{name} is graded as {exercise.name}: it defines {entry}")
    if fitting:
        return Lone(said=f"{name} may be of {' or '.join(fitting)}: each asks for such a function.")
    return Lone(said=f"{name} defines the function of no exercise.")


def _plain_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        with suppress(OSError):
            if stat.S_ISREG(os.lstat(path).st_mode):
                yield path


def _functions(path: Path) -> set[str]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            return set()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as that of "\d": they are not ours to print
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def _files(exercise: Exercise) -> list[str]:
    with suppress(BrokenExercise):  # grading that exercise reports it
        return [one.file for one in exercise.in_all_backends]
    return ["kernel.py"]


def entries_of(exercise: Exercise) -> list[str]:
    """Return the functions that the judge calls; none for an exercise that is broken."""
    with suppress(BrokenExercise):
        return [one.entry for one in exercise.any_spec.entries if isinstance(one, Spec)]
    return []
