"""The additions of a course: backends, steps, kinds, bounds and causes in its `extensions/`.

    extensions/backends/NAME/       a backend: `grader.backends.NAME`
    extensions/steps/NAME.py        a step: `grader.grading.steps.NAME`
    extensions/kinds/NAME/          a kind of exercise: `grader.grading.kinds.NAME`
    extensions/bounds/NAME.py       a bound: `grader.speed.bounds.NAME`
    extensions/causes/NAME.py       a cause: `grader.correctness.causes.NAME`

They run in the judge, and are trusted like a `spec.py`. They come from the course that grades,
never from a submission.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from grader.model import BrokenExercise

EXTENSIONS = "extensions"
PACKAGES = {
    "backends": "grader.backends",
    "steps": "grader.grading.steps",
    "kinds": "grader.grading.kinds",
    "bounds": "grader.speed.bounds",
    "causes": "grader.correctness.causes",
}


def use_extensions(root: Path) -> None:
    """Add the course's `extensions/` to the search paths of the packages that they extend.

    Raises BrokenExercise for a name that is taken.
    """
    for name, package in PACKAGES.items():
        folder = root.resolve() / EXTENSIONS / name
        if folder.is_dir():
            _extend(package, folder)


def _extend(package: str, folder: Path) -> None:
    places = importlib.import_module(package).__path__
    if str(folder) in places:
        return
    taken = {module.name for module in pkgutil.iter_modules(places)}
    for added in pkgutil.iter_modules([str(folder)]):
        if added.name in taken:
            raise BrokenExercise(
                f"The course adds {folder / added.name}, but {added.name} exists already.",
                "Give it another name.",
            )
    places.append(str(folder))
