"""What a rule is, and the commonest kind: one that looks for uses of named things."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from grader.authoring.lint.libraries import libraries
from grader.authoring.lint.records import Level
from grader.authoring.lint.source import Source
from grader.model import SourceNames


@dataclass(frozen=True)
class Match:
    """A place that a rule points at, and what stands in its sentence for `{what}`."""

    node: ast.AST
    what: str = ""


@dataclass(frozen=True)
class Rule:
    """One thing to look for. `message` is a sentence, in which `{what}` names what was found."""

    id: str
    name: str
    level: Level
    message: str
    why: str
    action: str
    find: Callable[[Source], Iterator[Match]]


def uses(
    *wanted: str, of_library: Callable[[SourceNames], Iterable[str]] = lambda names: ()
) -> Callable[[Source], Iterator[Match]]:
    """Find each use of these paths and of what lies in them, such as `threading` or `os.fork`.

    `of_library` names further ones of each library that kernels are written in.
    """

    def find(source: Source) -> Iterator[Match]:
        places = (*wanted, *(path for names in libraries() for path in of_library(names)))
        for node, paths in source.references:
            if found := sorted(path for path in paths if within(path, places)):
                yield Match(node, f"`{found[0].removeprefix('builtins.')}`")

    return find


def within(path: str, places: Iterable[str]) -> bool:
    """Whether a path is one of these or lies in one of them."""
    return any(path == place or path.startswith(f"{place}.") for place in places)
