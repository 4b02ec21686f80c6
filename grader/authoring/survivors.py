"""Which mutants of a solution its author says no test can reject, and why: `survivors.toml`.

    [[equivalent]]
    operator = "one_off_grid"
    before = "rows = cdiv(n, BLOCK)"
    after = "rows = (cdiv(n, BLOCK) + 1)"
    reason = "one program more finds nothing inside its mask"

The table's name is one of KINDS. `before` and `after` are the changed lines as `grader verify`
prints them; without `after`, every change that the operator makes to the line is meant, and without
`before` every one that it makes to the file. Where the same line stands several times in the file,
`nth = 2` means its second occurrence among the mutants that fit. Nothing is ever taken to be
equivalent by itself.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.authoring.mutants import Mutant
from grader.model import BrokenExercise

# equivalent: the same answer from the same work on every input that the contract allows.
# slower: the same answer from more work, which counts neither as traffic nor as memory.
# out_of_reach: wrong, but only where no simulated case can come.
KINDS = ("equivalent", "slower", "out_of_reach")
FIELDS = {"operator", "before", "after", "reason", "nth"}


@dataclass(frozen=True)
class Declaration:
    """One table of the file; `before`, `after` and `nth` are None for any."""

    kind: str
    operator: str
    before: str | None
    after: str | None
    reason: str
    nth: int | None = None

    def means(self, mutant: Mutant) -> bool:
        return (
            self.operator == mutant.operator
            and self.before in (None, mutant.before)
            and self.after in (None, mutant.after)
        )


def read(path: Path) -> tuple[Declaration, ...]:
    """What the file declares; nothing where there is none. Raises BrokenExercise."""
    if not path.is_file():
        return ()
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BrokenExercise(f"{path} is not TOML: {error}", "See docs/authoring.md.") from error
    unknown = set(tables) - set(KINDS)
    if unknown:
        raise BrokenExercise(
            f"{path}: {', '.join(sorted(unknown))} is no kind of survivor.",
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
    """The mutants that are declared, each with its declaration.

    Raises BrokenExercise for a declaration that no mutant, or only one declared already, fits.
    """
    found: dict[Mutant, Declaration] = {}
    for declaration in declarations:
        meant = [mutant for mutant in mutants if declaration.means(mutant)]
        if declaration.nth is not None:
            meant = meant[declaration.nth - 1 : declaration.nth]
        if not meant or any(mutant in found for mutant in meant):
            raise BrokenExercise(
                f"{path}: there is no mutant, or one declared before, that "
                f"{declaration.operator} makes of "
                f"{declaration.before or 'the file'!r}"
                + (f" to give {declaration.after!r}." if declaration.after else "."),
                "The solution has changed, or the table stands there twice: take it out.",
            )
        found |= dict.fromkeys(meant, declaration)
    return found
