"""Lessons on the site: their places, their titles, and their hints, which are folded."""

from __future__ import annotations

import re
from pathlib import Path

from grader.course import Exercise, catalog
from grader.model import BaseSpec

ROOT = Path(__file__).parents[2]
HINTS = re.compile(r"^## Hints\n\n(?:.+\n)+", re.MULTILINE)


def exercise_of(page: str) -> Exercise | None:
    """Return the exercise whose lesson a page is, such as `puzzles/p01_map/README`."""
    exercise = Exercise((ROOT / page).parent)
    known = exercise.shelf in catalog.SHELVES and (exercise.folder / "spec.py").exists()
    return exercise if known else None


def lesson_of(name: str) -> str | None:
    """Return the page of the lesson of an exercise of this name, if there is one."""
    pages = (f"{shelf}/{name}/README" for shelf in catalog.SHELVES)
    return next((page for page in pages if exercise_of(page)), None)


def entry(exercise: Exercise) -> str:
    """Return the lesson as a table of contents names it: the number, the title, the page."""
    number = exercise.name.partition("_")[0]
    return f"{number} {exercise.any_spec.title} <{lesson_of(exercise.name)}>"


def with_hints(text: str, spec: BaseSpec) -> str:
    """Return the lesson with its hints folded below the line that says how many there are."""
    folded = "".join(
        f"\n<details><summary>Hint {number}</summary>\n\n{hint}\n\n</details>\n"
        for number, hint in enumerate(spec.hints, start=1)
    )
    text, places = HINTS.subn(lambda section: section[0] + folded, text)
    if places != 1:
        raise ValueError(f"the lesson of {spec.title} has no section on its hints")
    return text
