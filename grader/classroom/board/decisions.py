"""A teacher's decisions on single attempts: a small JSON file, `grader/decisions/v1`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationError

from grader.model import Record, UsageError, first_error, save_file

SCHEMA: Final = "grader/decisions/v1"
LONGEST_REASON = 200  # characters
SHORTEST_ID = 4  # digits of an abbreviated id


class Invalidated(Record):
    """One attempt that is taken back."""

    attempt: str = Field(description="its id")
    reason: str = Field(description="published beside it")
    by: str = Field(description="who decided; not published")
    at: str = Field(description="UTC, ISO 8601")


class Decisions(Record):
    """All decisions of a class.

    No field has a default: a wrong file must not read as one without decisions, undoing them all.
    """

    schema_: Literal["grader/decisions/v1"] = Field(alias="schema")
    invalidated: tuple[Invalidated, ...]

    @property
    def reasons(self) -> dict[str, str]:
        return {one.attempt: one.reason for one in self.invalidated}


def read(path: Path) -> Decisions:
    """Read a file of decisions. Raises UsageError where it is missing or malformed."""
    try:
        return Decisions.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"The decisions {path} cannot be read: {error.strerror}.",
            "`grader leaderboard invalidate` makes the file.",
        ) from None
    except ValidationError as error:
        raise UsageError(
            f"{path} is no {SCHEMA}: {first_error(error)}.",
            "Restore it: `grader leaderboard invalidate` writes it whole or not at all.",
        ) from None


def reasons(path: Path | None) -> dict[str, str]:
    """Return the reasons by the attempt's id; empty without a file. Raises as `read` does."""
    return {} if path is None else read(path).reasons


def unknown(path: Path | None, decided: Collection[str], known: Collection[str]) -> list[str]:
    others = sorted(set(decided) - set(known))
    return [f"{path} decides on {one}, which is not among these results" for one in others]


def whole_id(begins: str, known: Collection[str]) -> str:
    """Return the one known id with this beginning. Raises UsageError if none or several have it."""
    fits = [one for one in known if one.startswith(begins)] if len(begins) >= SHORTEST_ID else []
    if len(fits) > 1:
        raise UsageError(
            f"{len(fits)} attempts in these results have an id that begins with {begins!r}.",
            "Give more of its digits.",
        )
    if not fits:
        raise UsageError(
            f"No attempt in these results has the id {begins!r}.",
            "`grader leaderboard build --who FILE` lists each attempt's id; its first "
            f"{SHORTEST_ID} digits are enough if no other id begins with them.",
        )
    return fits[0]


def invalidate(path: Path, one: Invalidated) -> None:
    """Add a decision to the file, and make the file if it is missing.

    Raises UsageError for an attempt with an earlier decision, and for an unusable reason.
    """
    decided = read(path) if path.exists() else Decisions(schema=SCHEMA, invalidated=())
    if not one.reason.strip():
        raise UsageError("The reason is empty.", "Say why: it is shown beside the attempt.")
    if len(one.reason) > LONGEST_REASON or not one.reason.isprintable():
        raise UsageError(
            f"The reason is not one line of at most {LONGEST_REASON} characters.",
            "Say it in a sentence: it is shown beside the attempt.",
        )
    if one.attempt in decided.reasons:
        raise UsageError(
            f"The attempt {one.attempt} is invalidated already: {decided.reasons[one.attempt]}",
            f"Edit {path} to change the reason.",
        )
    both = decided.model_copy(update={"invalidated": (*decided.invalidated, one)})
    save_file(path, both.model_dump_json(by_alias=True, indent=2) + "\n")
