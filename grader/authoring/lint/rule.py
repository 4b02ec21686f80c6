"""The record of a rule, and the commonest kind: a rule that finds uses of named things."""

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
    """A place that a rule points at, and the text for `{what}` in its sentence."""

    node: ast.AST
    what: str = ""


@dataclass(frozen=True)
class Rule:
    """One thing to look for. `message` is a sentence, in which `{what}` names the thing.

    A rule is `taught` where lessons warn of the thing and no step of a check finds it: a check that
    passes then points it out.
    """

    id: str
    name: str
    level: Level
    message: str
    why: str
    action: str
    find: Callable[[Source], Iterator[Match]]
    taught: bool = False


def uses(
    *used: str, of_library: Callable[[SourceNames], Iterable[str]] = lambda names: ()
) -> Callable[[Source], Iterator[Match]]:
    """Find each use of these paths and of names below them, such as `threading` or `os.fork`.

    `of_library` names further ones of each library that kernels are written in.
    """

    def find(source: Source) -> Iterator[Match]:
        places = (*used, *(path for names in libraries() for path in of_library(names)))
        for node, paths in source.references:
            if found := sorted(path for path in paths if within(path, places)):
                yield Match(node, f"`{found[0].removeprefix('builtins.')}`")

    return find


def within(path: str, places: Iterable[str]) -> bool:
    """Return whether a path is one of these or lies in one of them."""
    return any(path == place or path.startswith(f"{place}.") for place in places)
