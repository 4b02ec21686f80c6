"""Refusals of kernel languages that no backend knows, in place of their import."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any, NoReturn

# By their modules. Each has a launcher of its own in C, past the one that is watched.
UNKNOWN = {"cutlass": "CuTe DSL"}


class Refusing(MetaPathFinder):
    """Raises ImportError for the modules of these languages, installed or not."""

    def __init__(self, languages: dict[str, str]) -> None:
        self._languages = languages

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """Find nothing, so that others search. Raises ImportError for a refused module."""
        if name in self._languages:
            _refuse(self._languages[name])


def _refuse(language: str) -> NoReturn:
    known = ", ".join(backend.title for backend in _backends())
    known = " or ".join(known.rsplit(", ", 1))
    raise ImportError(
        f"{language} starts kernels by a runtime of its own, which the judge can neither watch "
        f"nor switch off. Write kernels in {known}."
    )


def _backends() -> Sequence[Any]:
    every: Sequence[Any] = importlib.import_module("grader.backends").every()
    return every


def install() -> None:
    """Refuse the languages that no backend has by now."""
    own = {module for backend in _backends() for module in backend.modules}
    unknown = {module: title for module, title in UNKNOWN.items() if module not in own}
    sys.meta_path.insert(0, Refusing(unknown))
