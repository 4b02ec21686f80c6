"""Kernel languages, one folder each: the folder is the registration.

Offers the plain data of each (`find`, `every`, ...) to all rooms. Everything else in a backend's
folder runs beside a submission, is imported by workers alone, and is private.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from pathlib import Path

from grader.model import Backend, BrokenExercise, CannotGrade, SourceNames, discover


def _known() -> Mapping[str, Backend]:
    return discover(__name__, "BACKEND", Backend)


def names() -> tuple[str, ...]:
    """Return the names of all backends."""
    return tuple(_known())


def every() -> list[Backend]:
    """Return all backends in the order of their titles."""
    return sorted(_known().values(), key=lambda backend: backend.title)


def find(name: str) -> Backend:
    """Return a backend. Raises BrokenExercise with a close name where there is none of it."""
    known = _known()
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    raise BrokenExercise(
        f"There is no backend {name!r}: kernels are written in {', '.join(known)}.",
        f"Did you mean {close[0]}?"
        if close
        else "A backend is a folder: docs/extensions.md says how to add one.",
    )


def folder(name: str) -> Path:
    """Return the folder of a backend that exists."""
    return next(path for parent in __path__ if (path := Path(parent, name)).is_dir())


def title(name: str) -> str:
    """Return how people call a backend; of one that is not installed, its name."""
    known = _known()
    return known[name].title if name in known else name


def reference() -> Backend:
    """Return the backend whose kernels measure a GPU's bandwidth, the grader's own first."""
    found = [backend for backend in every() if backend.reference_kernels]
    if not found:
        raise CannotGrade(
            "No backend has reference kernels, so a GPU's bandwidth cannot be measured.",
            "Install the grader once more: one of its own backends has them.",
        )
    return min(found, key=lambda backend: folder(backend.name).parent != Path(__file__).parent)


def reference_file() -> Path:
    """Return the file of these kernels."""
    backend = reference()
    assert backend.reference_kernels is not None
    return folder(backend.name) / backend.reference_kernels


def source_names(name: str) -> SourceNames:
    """Return the names of a backend's library, as its kernel files use them."""
    module = find(name).lint
    try:
        found = importlib.import_module(f"{__name__}.{name}.{module}").NAMES
    except (ImportError, AttributeError):
        found = None
    if not isinstance(found, SourceNames):
        raise BrokenExercise(
            f"The backend {name} is broken: {folder(name) / module}.py has no "
            "NAMES = SourceNames(...).",
            "Tell whoever wrote it; your work is not at fault.",
        )
    return found
