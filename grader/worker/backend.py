"""The import of a backend's modules from its folder, which may lie beside a course."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

Part = Literal["simulated", "compiled", "plain_call", "device"]


def backend_module(folder: Path, part: Part) -> ModuleType:
    """Import one of the modules that the `BACKEND` of this folder names."""
    module = getattr(_record(folder), part)
    return importlib.import_module(f"grader.backends.{folder.name}.{module}")


def has(folder: Path, part: Part) -> bool:
    return getattr(_record(folder), part) is not None


def _record(folder: Path) -> Any:
    languages = importlib.import_module("grader.backends")
    if str(folder.parent) not in languages.__path__:
        languages.__path__.append(str(folder.parent))
    return languages.find(folder.name)
