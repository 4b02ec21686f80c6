"""`course.toml`: a course's name and version, and the time when its solutions are shown.

    name = "memory-bound-kernels"
    title = "Memory-bound GPU kernels"
    version = "2026.1"
    solutions = "on-pass"

    [compile]
    targets = [75, 100]

Without the file the course has the name of its folder, and its solutions are never shown.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Self

from grader.model import TARGETS, UsageError

FILE = "course.toml"


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
    """Read the settings of the course in `root`. Raises UsageError when the file is not valid."""
    path = root / FILE
    if not path.is_file():
        word = re.sub(r"[^A-Za-z0-9._-]", "-", root.name) or "course"
        return Settings(name=word, title=word)
    try:
        return _parsed(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(
            f"{path} cannot be used: {error}.",
            "docs/authoring.md lists its entries.",
        ) from None


def _parsed(entries: dict[str, object]) -> Settings:
    targets = _targets(entries.pop("compile", {}))
    known = [field.name for field in fields(Settings) if field.name != "targets"]
    for name, value in entries.items():
        if name not in known:
            raise ValueError(f"{name} is not one of {', '.join(known)}, or the table [compile]")
        if not isinstance(value, str):
            raise ValueError(f'{name} is no text: write it in quotes, such as {name} = "…"')
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
