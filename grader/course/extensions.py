"""Backends, steps, kinds and bounds that a course adds: folders and files in its `extensions/`.

    extensions/backends/NAME/       a backend: `grader.backends.NAME`
    extensions/steps/NAME.py        a step: `grader.grading.steps.NAME`
    extensions/kinds/NAME/          a kind of exercise: `grader.grading.kinds.NAME`
    extensions/bounds/NAME.py       a bound: `grader.speed.bounds.NAME`

They run in the judge, as a `spec.py` does, and are trusted as one is: they come from the course
that grades, never from what was handed in.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from grader.model import BrokenExercise

FOLDER = "extensions"
PACKAGES = {
    "backends": "grader.backends",
    "steps": "grader.grading.steps",
    "kinds": "grader.grading.kinds",
    "bounds": "grader.speed.bounds",
}


def use_extensions(root: Path) -> None:
    """Have the packages that are extended look into the course's `extensions/`, too.

    Raises BrokenExercise for a name that is taken.
    """
    for name, package in PACKAGES.items():
        folder = root.resolve() / FOLDER / name
        if folder.is_dir():
            _extend(package, folder)


def _extend(package: str, folder: Path) -> None:
    places = importlib.import_module(package).__path__
    if str(folder) in places:
        return
    taken = {found.name for found in pkgutil.iter_modules(places)}
    for added in pkgutil.iter_modules([str(folder)]):
        if added.name in taken:
            raise BrokenExercise(
                f"The course adds {folder / added.name}, and there is a {added.name} already.",
                "Give it another name.",
            )
    places.append(str(folder))
