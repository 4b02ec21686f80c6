"""The exercises of a course, and the one that a name, number or path means. Never imports torch.

A course is a folder with `exercises/`, `puzzles/` and `solutions/`. A learner's copy has no
solutions.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from grader.course.exercise import Exercise
from grader.model import UsageError

SHELVES = ("exercises", "puzzles")
FEWEST_LETTERS = 3  # of a part of a name that means an exercise


def find_root(start: Path | None = None) -> Path:
    """Return the course around `start`: GRADER_COURSE, else the working directory.

    Raises UsageError where neither it nor a folder above it is a course.
    """
    if start is None and (named := os.environ.get("GRADER_COURSE")):
        start = Path(named)
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if any((folder / shelf).is_dir() for shelf in SHELVES):
            return folder
    raise UsageError(
        f"There is no course here: neither {start} nor a folder above it has exercises/ or "
        "puzzles/.",
        "Change to the course's folder, or make one to learn in: `grader init FOLDER`.",
    )


def exercises(root: Path) -> list[Exercise]:
    """List every exercise of the course, puzzles first, in the order of their names."""
    return [
        Exercise(spec.parent)
        for shelf in reversed(SHELVES)
        for spec in sorted((root / shelf).glob("*/spec.py"))
    ]


def parts(root: Path) -> list[Exercise]:
    """List every entry of every exercise, in the order of `exercises`. Raises BrokenExercise."""
    return [part for exercise in exercises(root) for part in exercise.parts]


def find(root: Path, query: str) -> Exercise:
    """Return the exercise with this name, path or number, or with this part of its name.

    The path may be that of its folder or of a kernel file in it, whose language it is then in. `1`
    and `01` find `01_…`, and `p7` finds `p07_…`. Bare digits mean an exercise before a puzzle.
    `online` finds `04_online_softmax` as long as no other name has it. Raises UsageError with the
    closest names if no name matches, and with all that match if several do.
    """
    known = exercises(root)
    named = next((exercise for exercise in known if exercise.name == query), None)
    if found := named or _at(known, Path(query)) or meant(known, query):
        return found
    names = [exercise.name for exercise in known]
    near = (difflib.get_close_matches(query, names, n=2, cutoff=cutoff) for cutoff in (0.8, 0.4))
    close = next(filter(None, near), [])  # distant ones only where none is near
    close = close or _nearest_number(known, query)
    raise UsageError(
        f"There is no exercise named {query!r}.",
        f"Did you mean {' or '.join(close)}?" if close else "`grader list` shows them all.",
    )


def meant(known: Sequence[Exercise], query: str) -> Exercise | None:
    """Return the exercise with this name or number, or with this part of its name.

    Raises UsageError with all that match if several do.
    """
    named = [exercise for exercise in known if exercise.name == query]
    found = named or _numbered(known, query) or _with_part(known, query.lower())
    if len(found) > 1:
        several = " and ".join(exercise.name for exercise in found)
        raise UsageError(f"{query!r} means {several}.", "Name the one that you mean.")
    return found[0] if found else None


def find_entry(root: Path, query: str) -> Exercise:
    """Return what `find` does, or for such as `13_rmsnorm:backward` that entry of the exercise.

    Raises UsageError as `find` does, and for an entry that the exercise does not have.
    """
    name, colon, entry = query.rpartition(":")
    if not colon or os.sep in entry or os.path.exists(query):  # names of folders may have colons
        return find(root, query)
    exercise = find(root, name)
    spec = exercise.whole_spec
    if not spec.also and entry == spec.entry:
        return exercise
    named = replace(exercise, entry=entry)
    _ = named.any_spec  # raises where there is no such entry
    return named


def _numbered(known: Sequence[Exercise], query: str) -> list[Exercise]:
    """Return the exercises whose names begin with `query`, else those with the same number."""
    exact = [exercise for exercise in known if exercise.name.split("_")[0] == query]
    wanted = _number(query)
    found = exact or [e for e in known if wanted and _number(e.name.split("_")[0]) == wanted]
    if wanted and not wanted[0]:
        on_first_shelf = [exercise for exercise in found if exercise.shelf == SHELVES[0]]
        return on_first_shelf or found
    return found


def _with_part(known: Sequence[Exercise], part: str) -> list[Exercise]:
    """Return the exercises whose names have the part, where they have it most plainly.

    That is the whole name behind the number, else the beginning of a word, else any place.
    """
    if len(part) < FEWEST_LETTERS:
        return []
    names = [(exercise, exercise.name.lower()) for exercise in known]
    whole = [one for one, name in names if name.partition("_")[2] == part]
    words = [one for one, name in names if f"_{part}" in f"_{name}"]
    return whole or words or [one for one, name in names if part in name]


def _nearest_number(known: Iterable[Exercise], query: str) -> list[str]:
    if (wanted := _number(query)) is None:
        return []
    letters, number = wanted
    found = [(each.name, _number(each.name.split("_")[0])) for each in known]
    near = [(abs(n[1] - number), name) for name, n in found if n and n[0] == letters]
    same = [] if letters else [name for name, n in found if n and n[1] == number]
    return [*same, *(name for _, name in sorted(near)[:1])]


def _number(text: str) -> tuple[str, int] | None:
    """Split `p07` into `p` and 7; return None if the text is not a number."""
    found = re.fullmatch(r"([A-Za-z]*)([0-9]{1,9})", text)
    return None if found is None else (found[1].lower(), int(found[2]))


def _at(known: Iterable[Exercise], path: Path) -> Exercise | None:
    """Return the exercise whose folder this is, or as it is written in this file of it."""
    # A kernel file may itself be a link, even to the file of another exercise: its own place first.
    places = (path.parent.resolve() / path.name, path.resolve())
    for place, exercise in product(places, known):
        if place == exercise.folder:
            return exercise
        # Only in its folder: it takes the spec to know the learner's files.
        files = exercise.in_all_backends if place.parent == exercise.folder else []
        if found := next((one for one in files if one.kernel == place), None):
            return found
    return None
