"""A likely cause of a wrong output: the record that each file of `causes/` defines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from grader.correctness.evidence import Evidence

# Kinds of failures that a comparison of outputs gives.
VALUES = ("value", "not_finite", "rounding", "rms")
OUTPUTS = (*VALUES, "never_written")


@dataclass(frozen=True)
class Explanation:
    """The sentences that a learner reads, and the line of the kernel file to look at (0: none).

    `cause` replaces the name of the cause where one file recognizes several. `message` replaces the
    failure's own, where that misleads. An explanation that is `complete` needs no further lines.
    """

    hint: str
    line: int = 0
    cause: str = ""
    message: str = ""
    complete: bool = False


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A likely cause, and how evidence of a failing case shows it.

    `name` is that of its file, and the stable word in results. `looks_at` says in words what the
    cause is read from. `explain` returns None unless the evidence fits this cause and hardly any
    other: a question that misleads is worse than none. It is asked for failures of `kinds`, and the
    cause with the lowest `order` that answers is shown.
    """

    name: str
    looks_at: str
    order: int
    explain: Callable[[Evidence], Explanation | None]
    kinds: tuple[str, ...] = VALUES

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.name):
            raise ValueError(f"a cause is named by a word such as wrong_sign, not {self.name!r}")
