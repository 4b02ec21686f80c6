"""Kernel languages, one folder each: the folder is the registration.

Offers the plain data of each (`find`, `every`, ...) to all rooms. Everything else in a backend's
folder runs beside a submission, is imported by workers alone, and is private.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from pathlib import Path

from grader.model import Backend, BrokenExercise, CannotGrade, SourceNames


def names() -> tuple[str, ...]:
    """Return the names of all backends, those of the installation first."""
    return tuple(found.name for found in pkgutil.iter_modules(__path__) if found.ispkg)


def find(name: str) -> Backend:
    """Return a backend. Raises BrokenExercise with close names where there is none of this name."""
    known = names()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        raise BrokenExercise(
            f"There is no backend {name!r}: kernels are written in {', '.join(known)}.",
            f"Did you mean {close[0]}?"
            if close
            else "A backend is a folder: docs/extensions.md says how to add one.",
        )
    found = getattr(importlib.import_module(f"{__name__}.{name}"), "BACKEND", None)
    if not isinstance(found, Backend) or found.name != name:
        raise BrokenExercise(
            f"The backend {name} is broken: {folder(name) / '__init__.py'} has no "
            f"BACKEND = Backend(name={name!r}, ...).",
            "Tell whoever wrote it; your kernel is not at fault.",
        )
    return found


def every() -> list[Backend]:
    """Return all backends in the order of their titles."""
    return sorted(map(find, names()), key=lambda backend: backend.title)


def folder(name: str) -> Path:
    """Return the folder of a backend that exists."""
    return next(path for parent in __path__ if (path := Path(parent, name)).is_dir())


def title(name: str) -> str:
    """Return how people call a backend; of one that is not installed, its name."""
    return find(name).title if name in names() else name


def reference() -> Backend:
    """Return the backend whose reference kernels measure a GPU's bandwidth."""
    found = next((backend for backend in every() if backend.reference_kernels), None)
    if found is None:
        raise CannotGrade(
            "No backend has reference kernels, so a GPU's bandwidth cannot be measured.",
            "Install the grader once more: one of its own backends has them.",
        )
    return found


def reference_file() -> Path:
    """Return the file of these kernels."""
    backend = reference()
    assert backend.reference_kernels is not None
    return folder(backend.name) / backend.reference_kernels


def source_names(name: str) -> SourceNames:
    """Return the names of a backend's library, as its kernel files use them."""
    module = importlib.import_module(f"{__name__}.{name}.{find(name).lint}")
    found: SourceNames = module.NAMES
    return found
