"""The form of an example that is made by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grader.correctness.evidence import Evidence

Make = Callable[[], Evidence]


@dataclass(frozen=True)
class Example:
    """Evidence that a detector explains by `word`, at `line` if that is given, or not at all."""

    detector: str
    make: Make
    word: str = ""
    line: int | None = None


def shown(table: Mapping[str, tuple[str, Make] | tuple[str, Make, int]]) -> dict[str, Example]:
    """Read a table of titles; the first text has the detector, and the word if it is another."""
    found = {}
    for title, (names, make, *line) in table.items():
        detector, _, word = names.partition(" ")
        found[title] = Example(detector, make, word or detector, line[0] if line else None)
    return found


def near(table: Mapping[str, tuple[str, Make]]) -> dict[str, Example]:
    return {title: Example(detector, make) for title, (detector, make) in table.items()}
