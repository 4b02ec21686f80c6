"""Survivors: mutants of a solution that no test can reject, as its author declares them.

`survivors.toml` holds one table for each declaration:

    [[equivalent]]
    operator = "one_off_grid"
    before = "rows = cdiv(n, BLOCK)"
    after = "rows = (cdiv(n, BLOCK) + 1)"
    reason = "one program more finds nothing inside its mask"

The table's name is one of KINDS. `before` and `after` are the changed lines as `grader verify`
prints them. Without `after` the table covers every change of the operator to the line, and without
`before` every one to the file. Where the same line occurs several times in the file, `nth = 2`
selects the second occurrence among the mutants that fit. No mutant is taken to be equivalent
without a declaration.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.authoring.mutants import Mutant
from grader.model import BrokenExercise

# equivalent: the same output from the same work on every input that the contract allows.
# slower: the same output from more work, which counts neither as traffic nor as memory.
# out_of_reach: wrong, but only where no simulated case can come.
KINDS = ("equivalent", "slower", "out_of_reach")
FIELDS = {"operator", "before", "after", "reason", "nth"}


@dataclass(frozen=True)
class Declaration:
    """One table of the file; `before`, `after` and `nth` are None if any value matches."""

    kind: str
    operator: str
    before: str | None
    after: str | None
    reason: str
    nth: int | None = None

    def matches(self, mutant: Mutant) -> bool:
        return (
            self.operator == mutant.operator
            and self.before in (None, mutant.before)
            and self.after in (None, mutant.after)
        )


def read(path: Path) -> tuple[Declaration, ...]:
    """Read the declarations; a missing file has none. Raises BrokenExercise."""
    if not path.is_file():
        return ()
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BrokenExercise(f"{path} is not TOML: {error}", "See docs/authoring.md.") from error
    unknown = set(tables) - set(KINDS)
    if unknown:
        raise BrokenExercise(
            f"{path}: {', '.join(sorted(unknown))} is not a kind of survivor.",
            f"Name each table one of {', '.join(KINDS)}.",
        )
    return tuple(
        _declaration(path, kind, table) for kind in KINDS for table in tables.get(kind, [])
    )


def _declaration(path: Path, kind: str, table: object) -> Declaration:
    given = table if isinstance(table, Mapping) else {}
    texts = {name: value for name, value in given.items() if isinstance(value, str) and value}
    nth = given.get("nth")
    sound = set(texts) | ({"nth"} if type(nth) is int and nth > 0 else set()) == set(given)
    if not sound or not {"operator", "reason"} <= set(given) <= FIELDS:
        raise BrokenExercise(
            f"{path}: a table [[{kind}]] holds {dict(given)}.",
            "It needs an operator and a reason; it may have before, after and nth, a number.",
        )
    return Declaration(
        kind=kind,
        operator=texts["operator"],
        before=texts.get("before"),
        after=texts.get("after"),
        reason=texts["reason"],
        nth=nth,
    )


def assign(
    mutants: Sequence[Mutant], declarations: Sequence[Declaration], path: Path
) -> dict[Mutant, Declaration]:
    """Map each declared mutant to its declaration.

    Raises BrokenExercise for a declaration that fits no mutant, or only one declared already.
    """
    found: dict[Mutant, Declaration] = {}
    for declaration in declarations:
        matching = [mutant for mutant in mutants if declaration.matches(mutant)]
        if declaration.nth is not None:
            matching = matching[declaration.nth - 1 : declaration.nth]
        if not matching or any(mutant in found for mutant in matching):
            raise BrokenExercise(
                f"{path}: the declaration of {declaration.operator} on "
                f"{declaration.before or 'the file'!r}"
                + (f" with the result {declaration.after!r}" if declaration.after else "")
                + " fits no mutant, or only one declared before.",
                "The solution has changed, or the table is there twice: remove it.",
            )
        found |= dict.fromkeys(matching, declaration)
    return found
