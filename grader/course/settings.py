"""`course.toml`: a course's name and version, and the time when its solutions are shown.

    name = "memory-bound-kernels"
    title = "Memory-bound GPU kernels"
    version = "2026.1"
    solutions = "on-pass"

    [compile]
    targets = [75, 100]

Without the file the course has the name of its folder, and its solutions are never shown. A table
of TABLES belongs to the module that reads it with `table`; this one knows only its name.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, TypeVar

from grader.model import TARGETS, UsageError

FILE = "course.toml"
# A mistyped name of a table is an error, as it would be ignored otherwise.
TABLES = ("compile", "grades")

T = TypeVar("T")


class When(StrEnum):
    """The time when solutions are shown."""

    NOW = "now"
    NEVER = "never"
    ON_PASS = "on-pass"  # to a learner whose own kernel passed
    AFTER = "after"  # from a day on


@dataclass(frozen=True)
class Policy:
    """The time when solutions are shown, and the day if there is one.

    Only AFTER has a `day`; it begins at 0:00 UTC.
    """

    when: When
    day: date | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the text that `str` writes. Raises ValueError."""
        word, colon, day = text.partition(":")
        try:
            if word == When.AFTER and colon:
                return cls(When.AFTER, date.fromisoformat(day))
            if word != When.AFTER and not colon:
                return cls(When(word))
        except ValueError:
            pass
        raise ValueError(f"{text!r} is not one of now, never, on-pass, after:YYYY-MM-DD")

    def __str__(self) -> str:
        return self.when if self.day is None else f"{self.when}:{self.day.isoformat()}"


@dataclass(frozen=True)
class Settings:
    """A course's description of itself.

    Releases and signed results carry `name`, which keeps courses apart. `name` and `version`
    consist of letters, digits, `.`, `_` and `-`. `targets` are compute capabilities for which the
    step `compile` builds kernels, beside the one that is required.
    """

    name: str
    title: str
    version: str = "0"
    solutions: Policy = Policy(When.NEVER)
    targets: tuple[int, ...] = ()


def read(root: Path) -> Settings:
    """Read the course's settings; without a file, name the course after its folder.

    Raises UsageError when the file is not valid, or cannot be read.
    """
    return _understood(root, _parsed) or _of_no_file(root)


def table(root: Path, name: str, parsed: Callable[[Mapping[str, Any]], T]) -> T:
    """Read a table of the settings in `root` with `parsed`, which gets {} for a missing table.

    Raises UsageError when the file is not valid, or `parsed` raises ValueError.
    """

    def read_table(entries: dict[str, Any]) -> T:
        found = entries.get(name, {})
        if not isinstance(found, dict):
            raise ValueError(f"{name} is not a table: write [{name}], and its entries below")
        return parsed(found)

    found = _understood(root, read_table)
    return parsed({}) if found is None else found


def _understood(root: Path, parsed: Callable[[dict[str, Any]], T]) -> T | None:
    path = root / FILE
    if not path.is_file():
        return None
    try:
        return parsed(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:  # what is no TOML, or no UTF-8, is a ValueError, too
        raise UsageError(
            f"{path} cannot be used: {error}.",
            "docs/authoring.md lists its entries.",
        ) from None


def _of_no_file(root: Path) -> Settings:
    word = re.sub(r"[^A-Za-z0-9._-]", "-", root.name) or "course"
    return Settings(name=word, title=word)


def _parsed(entries: dict[str, object]) -> Settings:
    targets = _targets(entries.get("compile", {}))
    entries = {name: value for name, value in entries.items() if name not in TABLES}
    known = [field.name for field in fields(Settings) if field.name != "targets"]
    for name, value in entries.items():
        if name not in known:
            tables = " and ".join(f"[{table}]" for table in TABLES)
            raise ValueError(f"{name} is not one of {', '.join(known)}, or the tables {tables}")
        if not isinstance(value, str):
            raise ValueError(f'{name} is not text: write it in quotes, such as {name} = "…"')
        if not value.strip():
            raise ValueError(f"{name} is empty: write it, or leave out the line")
    texts = {name: str(value) for name, value in entries.items()}
    for name in ("name", "version"):
        if name in texts and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", texts[name]):
            raise ValueError(f"{name} may hold letters, digits, '.', '_' and '-'")
    if "name" not in texts:
        raise ValueError("name is missing")
    return Settings(
        name=texts["name"],
        title=texts.get("title", texts["name"]),
        version=texts.get("version", "0"),
        solutions=Policy.parse(texts.get("solutions", "never")),
        targets=targets,
    )


def _targets(table: object) -> tuple[int, ...]:
    if not isinstance(table, dict) or not table.keys() <= {"targets"}:
        raise ValueError("[compile] has one entry, such as targets = [75, 100]")
    targets = table.get("targets", [])
    known = isinstance(targets, list) and all(
        type(one) is int and one in TARGETS for one in targets
    )
    if not known:
        raise ValueError(f"the targets in [compile] may be {', '.join(map(str, TARGETS))}")
    return tuple(targets)
