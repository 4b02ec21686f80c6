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
    return tuple(_known())


def every() -> list[Backend]:
    return sorted(_known().values(), key=lambda backend: backend.title)


def find(name: str) -> Backend:
    """Return a backend. Raises BrokenExercise, which suggests a close name, for an unknown one."""
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
    return next(path for parent in __path__ if (path := Path(parent, name)).is_dir())


def title(name: str) -> str:
    """Return the title of a backend, or the name of one that is not installed."""
    known = _known()
    return known[name].title if name in known else name


def reference() -> Backend:
    """Return the backend whose kernels measure a GPU's bandwidth, the grader's own first."""
    measuring = [backend for backend in every() if backend.reference_kernels]
    if not measuring:
        raise CannotGrade(
            "No backend has reference kernels, so a GPU's bandwidth cannot be measured.",
            "Install the grader again: one of its own backends has them.",
        )
    return min(measuring, key=lambda backend: folder(backend.name).parent != Path(__file__).parent)


def reference_file() -> Path:
    backend = reference()
    assert backend.reference_kernels is not None
    return folder(backend.name) / backend.reference_kernels


def source_names(name: str) -> SourceNames:
    """Return the names of a backend's library, as its kernel files use them."""
    module = find(name).lint
    try:
        library = importlib.import_module(f"{__name__}.{name}.{module}").NAMES
    except (ImportError, AttributeError):
        library = None
    if not isinstance(library, SourceNames):
        raise BrokenExercise(
            f"The backend {name} is broken: {folder(name) / module}.py has no "
            "NAMES = SourceNames(...).",
            "Report it to its author; your work is not at fault.",
        )
    return library
