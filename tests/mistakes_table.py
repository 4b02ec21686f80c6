"""Kernels of beginners' mistakes, and the table of what a good report says of each.

`tests/mistakes/causes.toml` explains the columns. A third of the rows is held out: those whose path
has a hash that leaves no remainder.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SEEN, HELD_OUT = ROOT / "tests" / "mistakes", ROOT / "tests" / "mistakes_held_out"


@dataclass(frozen=True)
class Row:
    """One wrong kernel. `lines` are the numbers of those lines that a good report may name."""

    exercise: str
    kernel: Path
    mistake: str
    lines: frozenset[int]
    causes: frozenset[str]
    also: frozenset[str]
    held_out: bool


def rows() -> list[Row]:
    """Return the rows of all tables, by exercise and name."""
    found = [row for folder in (SEEN, HELD_OUT) for row in _rows_in(folder)]
    return sorted(found, key=lambda row: (row.exercise, row.kernel.name))


def groups() -> dict[str, dict[str, str]]:
    """Return the sentence of each cause, in groups."""
    return tomllib.loads((SEEN / "causes.toml").read_text(encoding="utf-8"))


def vocabulary() -> dict[str, str]:
    return {cause: sentence for group in groups().values() for cause, sentence in group.items()}


def is_held_out(exercise: str, name: str) -> bool:
    return hashlib.sha256(f"{exercise}/{name}".encode()).digest()[0] % 3 == 0


def numbers_of(texts: list[str], source: str) -> frozenset[int]:
    """Return the numbers of the lines that consist of one of the texts, whatever their indent.

    Raises ValueError for a text that is no line.
    """
    lines = [line.strip() for line in source.splitlines()]
    if lost := [text for text in texts if text not in lines]:
        raise ValueError(f"no such line: {lost[0]}")
    return frozenset(number for number, line in enumerate(lines, 1) if line in texts)


def _rows_in(folder: Path) -> Iterator[Row]:
    for table in folder.glob("*/table.toml"):
        for name, told in tomllib.loads(table.read_text(encoding="utf-8")).items():
            yield _row(table.parent, name, told)


def _row(folder: Path, name: str, told: dict[str, Any]) -> Row:
    own = folder if not name.startswith("wrong_") else ROOT / "solutions" / folder.name
    kernel = own / f"{name}.py"
    return Row(
        exercise=folder.name,
        kernel=kernel,
        mistake=told["mistake"],
        lines=numbers_of(told["lines"], kernel.read_text(encoding="utf-8")),
        causes=frozenset(told["causes"]),
        also=frozenset(told.get("also", ())),
        held_out=folder.parent == HELD_OUT,
    )
