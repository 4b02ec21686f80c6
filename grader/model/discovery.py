"""Find the records that files and folders of a package register by being there."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from grader.model.errors import BrokenExercise

T = TypeVar("T")
NEXT_STEP = "Report it to its author; your work is not at fault."


def discover(package: str, attribute: str, record: type[T]) -> Mapping[str, T]:
    """Return the record that each module of a package defines, by the module's name.

    The package's `__path__` is read each time: the folders of a course's extensions are added to
    it. Raises BrokenExercise for a module that cannot be imported or has no such record.
    """
    path = importlib.import_module(package).__path__
    names = _names_in(tuple((folder, _changed_at(folder)) for folder in path))
    return {name: _record(package, name, attribute, record) for name in names}


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


@lru_cache
def _names_in(folders: tuple[tuple[str, int], ...]) -> Sequence[str]:
    """List the modules. Reading the folders anew for each spec took half of `grader list`."""
    return sorted(found.name for found in pkgutil.iter_modules([name for name, _ in folders]))


def _record(package: str, name: str, attribute: str, record: type[T]) -> T:
    full = f"{package}.{name}"
    try:
        module = importlib.import_module(full)
    except (Exception, SystemExit) as error:
        raise BrokenExercise(
            f"{full} is broken: it fails with {type(error).__name__}: {error}", NEXT_STEP
        ) from error
    found = getattr(module, attribute, None)
    if not isinstance(found, record) or getattr(found, "name", None) != name:
        raise BrokenExercise(
            f"{full} is broken: {module.__file__} has no "
            f"{attribute} = {record.__name__}(name={name!r}, ...).",
            NEXT_STEP,
        )
    return found
