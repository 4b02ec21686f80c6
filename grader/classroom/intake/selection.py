"""Choose what the course needs of everything that a submission holds; the rest is never written.

That is the files in the folders of the course's exercises, and the manifest of its release. Where
there are none of these, it is kernel files alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from grader.course import SHELVES, Exercise, catalog, manifest
from grader.model import quoted

IGNORED = {"__MACOSX", "__pycache__", "node_modules", "site-packages"}
MOST_NAMED = 3  # names in one note
LONGEST_NAME = 255  # bytes of a file's name
_DEPTH = 3  # of a file in an exercise: shelf, exercise, file
_DRIVE = re.compile("[A-Za-z]:")
_NOTHING = PurePosixPath()


class Kind(StrEnum):
    """The kind of an entry, as a note says it."""

    FILE = "a file"
    FOLDER = "a folder"
    LINK = "a link"
    OTHER = "no plain file"


@dataclass(frozen=True)
class Item:
    """One entry of an archive, repository or folder, with its path as written there."""

    name: str
    kind: Kind = Kind.FILE
    number: int = 0  # in the source's own list


class Refused(Exception):
    """A submission that cannot be read; `str(error)` is the reason, for its student."""


class Nothing(Exception):
    """A submission without any file."""


@dataclass(frozen=True)
class Needs:
    """The exercises of a course by shelf and name, and those that are to be graded."""

    places: frozenset[tuple[str, str]]
    meant: tuple[Exercise, ...]  # one for each folder

    @property
    def shown(self) -> str:
        """A folder of the course to hand in, as an example."""
        return f"{self.meant[0].shelf}/{self.meant[0].folder.name}/"


@dataclass(frozen=True)
class Selection:
    """The entries to take, by their path in a student's repository.

    `prefix` is the folder of the submission that holds the course's folders, or None where the
    entries are kernel files alone.
    """

    taken: Mapping[PurePosixPath, Item]
    prefix: PurePosixPath | None
    notes: tuple[str, ...]


_Found = list[tuple[PurePosixPath, Item]]


def needs_of(exercises: Sequence[Exercise]) -> Needs:
    course = catalog.exercises(exercises[0].root)
    return Needs(
        frozenset((one.shelf, one.folder.name) for one in course),
        tuple({one.folder: one for one in exercises}.values()),
    )


def select(items: Iterable[Item], needs: Needs) -> Selection:
    """Choose the entries to take. Raises Nothing and Refused."""
    found, unsafe = _named(items)
    notes = _unsafe_note(unsafe)
    if not found:
        if notes:
            raise Refused(notes[0])
        raise Nothing
    prefix = _prefix(found, needs)
    wanted = _lone(found, needs) if prefix is None else _within(prefix, found, needs)
    taken, odd = _plain_files(wanted)
    if not any(len(path.parts) == _DEPTH for path in taken):
        raise Refused("; ".join(odd) or f"it holds no files as {needs.shown}kernel.py")
    return Selection(taken, prefix, (*odd, *notes))


def _named(items: Iterable[Item]) -> tuple[_Found, list[str]]:
    """Return the entries by their paths, less those of no interest, and the names that are unsafe.

    Windows writes backslashes in archives.
    """
    found: _Found = []
    unsafe = []
    for item in items:
        if item.kind is Kind.FOLDER:
            continue
        name = item.name.replace("\\", "/")
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or _DRIVE.match(name) or not all(map(_is_safe, parts)):
            unsafe.append(item.name)
        elif parts and not any(part in IGNORED or part.startswith(".") for part in parts):
            found.append((PurePosixPath(*parts), item))
    return found, unsafe


def _is_safe(part: str) -> bool:
    # What is printable has no halves of surrogate pairs: it can be encoded.
    return part != ".." and part.isprintable() and len(part.encode()) <= LONGEST_NAME


def _unsafe_note(names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    shown = ", ".join(map(quoted, names[:MOST_NAMED]))
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return (f"entries with unsafe names were not taken: {shown}{more}",)


def _prefix(found: _Found, needs: Needs) -> PurePosixPath | None:
    """Return the folder with the course's folders; None where no entry is in one.

    Raises Refused where several hold them.
    """
    prefixes = {before for path, _ in found if (before := _before(path, needs)) is not None}
    if not prefixes:
        return None
    least = min(len(prefix.parts) for prefix in prefixes)
    first, *others = sorted(prefix for prefix in prefixes if len(prefix.parts) == least)
    if others:
        raise Refused(
            f"it holds the course's folders more than once, in {quoted(str(first))} and in "
            f"{quoted(str(others[0]))}"
        )
    return first


def _before(path: PurePosixPath, needs: Needs) -> PurePosixPath | None:
    for number, part in enumerate(path.parts[: 1 - _DEPTH]):
        if part in SHELVES and path.parts[number : number + 2] in needs.places:
            return PurePosixPath(*path.parts[:number])
    return None


def _within(prefix: PurePosixPath, found: _Found, needs: Needs) -> _Found:
    inside = [(p.relative_to(prefix), item) for p, item in found if p.is_relative_to(prefix)]
    return [(path, item) for path, item in inside if _is_wanted(path, needs)]


def _is_wanted(path: PurePosixPath, needs: Needs) -> bool:
    if len(path.parts) == _DEPTH:
        return path.parts[:2] in needs.places
    return str(path) == manifest.FILE


def _lone(found: _Found, needs: Needs) -> _Found:
    """Return kernel files alone, at their exercises' places. Raises Refused.

    A file named after an exercise belongs to it. If there is none and only one exercise is graded,
    a file belongs to that one.
    """
    by_name = {exercise.folder.name: exercise for exercise in needs.meant}
    # In the folder of an exercise that the course does not have, a file is of that one.
    files = [(p, item) for p, item in found if p.suffix == ".py" and not {*SHELVES} & {*p.parts}]
    named = [(by_name[p.stem], item) for p, item in files if p.stem in by_name]
    if not named and len(needs.meant) == 1:
        only = needs.meant[0]
        called = [(path, item) for path, item in files if path.name == only.kernel.name]
        named = [(only, item) for _, item in (called if len(called) == 1 else files)]
    if not named:
        raise Refused(_nothing_fits(files, found, needs))
    if len({exercise.folder for exercise, _ in named}) < len(named):
        raise Refused(
            "it holds several files for one exercise, such as "
            + " and ".join(quoted(item.name) for _, item in named[:2])
        )
    return [(PurePosixPath(e.kernel.relative_to(e.root)), item) for e, item in named]


def _nothing_fits(files: _Found, found: _Found, needs: Needs) -> str:
    if len(files) == 1:
        return (
            f"{quoted(files[0][1].name)} does not say which exercise it is of: name it after its "
            f"exercise, such as {PurePosixPath(needs.shown).name}.py, or grade one exercise only"
        )
    return (
        f"it holds none of the course's exercises, such as {needs.shown}, but "
        f"{quoted(found[0][1].name)}"
    )


def _plain_files(wanted: _Found) -> tuple[dict[PurePosixPath, Item], list[str]]:
    """Return the files by their paths, and notes on what is not taken.

    Of two entries with one path the later counts, as it does for every program that unpacks. Paths
    that differ in case alone are one on some disks: there the one without capitals counts.
    """
    taken: dict[PurePosixPath, Item] = {}
    spelt: dict[str, PurePosixPath] = {}
    notes = []
    for path, item in wanted:
        if item.kind is not Kind.FILE:
            notes.append(f"{path} is {item.kind.value}, and was not taken")
            continue
        other = spelt.get(str(path).casefold())
        if other == path:
            notes.append(f"{path} is there twice: the later one counts")
        elif other is not None:
            notes.append(f"{other} and {path} differ in case alone: one of them counts")
            if str(other).islower():
                continue
            del taken[other]
        taken[path], spelt[str(path).casefold()] = item, path
    return taken, notes
