"""The commit that counts in a repository, read from its files without git."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.classroom.intake.selection import MOST_NAMED, Refused
from grader.model import quoted

LARGEST_REFS = 4 << 20  # bytes
_HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_REF = re.compile(r"ref: (refs/[^\s\0]+)")
_HEADS = "refs/heads/"


def commit(repository: Path) -> tuple[str, tuple[str, ...]]:
    """Return the hash of the commit that HEAD names, or else of the only branch, and notes.

    Raises Refused where there is none.
    """
    refs = _packed(repository)
    head = _text(repository / "HEAD")
    if _HASH.fullmatch(head):
        return head, ()
    named = _REF.fullmatch(head)
    if named and (found := _hash_of(repository, named[1], refs)):
        return found, ()
    heads = {ref for ref in refs if ref.startswith(_HEADS)} | set(_loose(repository))
    commits = {ref: hash for ref in heads if (hash := _hash_of(repository, ref, refs))}
    if not commits:
        raise Refused("its repository has no commits")
    if len(commits) > 1:
        names = ", ".join(quoted(ref.removeprefix(_HEADS)) for ref in sorted(commits)[:MOST_NAMED])
        raise Refused(f"its repository has several branches ({names}), and HEAD names none of them")
    [(ref, only)] = commits.items()
    return only, (f"HEAD names no branch: {quoted(ref.removeprefix(_HEADS))} counts",)


def _packed(repository: Path) -> dict[str, str]:
    lines = (line.split(" ", 1) for line in _text(repository / "packed-refs").splitlines())
    return {parts[1]: parts[0] for parts in lines if len(parts) > 1 and _HASH.fullmatch(parts[0])}


def _loose(repository: Path) -> Iterator[str]:
    for parent, _, files in os.walk(repository / _HEADS):
        for name in files:
            yield Path(parent, name).relative_to(repository).as_posix()


def _hash_of(repository: Path, ref: str, packed: Mapping[str, str]) -> str | None:
    place = os.path.realpath(repository / ref)
    inside = Path(place).is_relative_to(os.path.realpath(repository))
    loose = _text(Path(place)) if inside else ""
    return loose if _HASH.fullmatch(loose) else packed.get(ref)


def _text(path: Path) -> str:
    """Return the text of a small plain file; of anything else nothing."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(LARGEST_REFS).decode("utf-8", "replace").strip()
