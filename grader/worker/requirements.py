"""Private names of libraries that the grader relies on, looked up before a submission is read."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from functools import reduce
from importlib import metadata
from typing import Any

from grader.model import CannotGrade, Package

OPTIONAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Touchpoint:
    """A name that a library's documentation does not promise, and the file of ours that uses it.

    `name` is dotted inside the module. `parameters` are those that we know by name and order; any
    that a library has beyond them must be optional. None: it is not called, or not by us.
    """

    module: str
    name: str
    parameters: tuple[str, ...] | None
    used_in: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"

    def misfit(self) -> str | None:
        """Return what is wrong with the installed version, as a clause, or None."""
        try:
            member: Any = reduce(
                getattr, self.name.split("."), importlib.import_module(self.module)
            )
        except (ImportError, AttributeError):
            return f"it has no {self}"
        if self.parameters is None:
            return None
        try:
            has = inspect.signature(member).parameters
        except ValueError:  # compiled code that has no signature
            return f"the parameters of its {self} cannot be read"
        more = list(has.values())[len(self.parameters) :]
        if tuple(has)[: len(self.parameters)] == self.parameters and all(map(_optional, more)):
            return None
        return f"its {self} takes ({', '.join(has)}) and not ({', '.join(self.parameters)})"


def _optional(parameter: inspect.Parameter) -> bool:
    return parameter.default is not parameter.empty or parameter.kind in OPTIONAL


def touchpoints(module: str, used_in: str, *names: str) -> tuple[Touchpoint, ...]:
    """Read touchpoints written as `Class.method(self, x)`, or `Class` where no call matters."""
    parsed = []
    for text in names:
        name, bracket, inside = text.removesuffix(")").partition("(")
        parameters = tuple(filter(None, inside.split(", "))) if bracket else None
        parsed.append(Touchpoint(module, name, parameters, used_in))
    return tuple(parsed)


@dataclass(frozen=True)
class Library:
    """A package, and the touchpoints that kernels need on one device."""

    package: Package
    touchpoints: tuple[Touchpoint, ...]


def require(*libraries: Library) -> None:
    """Raise CannotGrade when an installed version lacks a touchpoint, or has another form of it.

    Raises ImportError when a library is missing altogether.
    """
    for library in libraries:
        for touchpoint in library.touchpoints:
            importlib.import_module(touchpoint.module.partition(".")[0])
            if misfit := touchpoint.misfit():
                name, tested = library.package.name, library.package.tested
                raise CannotGrade(
                    f"{name} {metadata.version(name)} does not fit: {misfit}.",
                    f"Install a tested version: {name} {' or '.join(tested)}. "
                    "`grader doctor` compares all packages with the tested versions.",
                )
