"""The course that this installation carries, with its solutions: `grader init` copies from it.

A wheel has it in `installed/` beside this module, where setup.py puts it; a clone has it at its
top. The wheel in a class's release has none.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import grader
from grader.course import settings
from grader.course.catalog import SHELVES, exercises
from grader.course.exercise import Exercise
from grader.model import UsageError

INSTALLED_COURSE = Path(__file__).with_name("installed")


def installed_course() -> Path | None:
    """Return the folder of the course, or None where the installation carries none."""
    clone = Path(grader.__file__).resolve().parents[1]
    places = [INSTALLED_COURSE, *([clone] if (clone / "setup.py").is_file() else [])]
    return next((one for one in places if (one / SHELVES[0]).is_dir()), None)


def require_installed_course() -> Path:
    """Return the folder of the course. Raises UsageError where the installation carries none."""
    folder = installed_course()
    if folder is None:
        raise UsageError(
            "This installation of the grader carries no course.",
            "Install the one that does, `pip install kernel-grader`, or work in the repository "
            "that your instructor gave you.",
        )
    return folder


def with_solution(exercise: Exercise) -> Exercise:
    """Return the exercise as the installation carries it, for a folder that `grader init` made.

    One with a solution beside it, or of another course, is returned as it is.
    """
    root = installed_course()
    if exercise.solution.is_file() or root is None:
        return exercise
    if settings.read(root).name != settings.read(exercise.root).name:
        return exercise
    known = {one.name: one for one in exercises(root)}
    if exercise.name not in known:
        return exercise
    return replace(known[exercise.name], backend=exercise.backend)
