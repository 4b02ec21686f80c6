"""One submission, whatever its form, becomes a plain folder that `classroom.plan` accepts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.classroom.intake.selection import (
    IGNORED,
    Item,
    Kind,
    Needs,
    Nothing,
    Refused,
    select,
)
from grader.classroom.intake.writing import Unpacked

MOST_ENTRIES = 50_000  # of one submission


@dataclass(frozen=True)
class Contents:
    """The folder with a submission's files; or `missing` for none, or in `fault` why not."""

    folder: Path | None = None
    missing: bool = False
    fault: str = ""
    notes: tuple[str, ...] = ()


def read(place: Path, needs: Needs, work: Path, name: str = "") -> Contents:
    """Read one submission; what has to be written goes into the new folder `work`.

    `name` is that of a file without what a learning system puts before it. Raises CannotGrade where
    `work` cannot be written.
    """
    try:
        return _of(place, needs, Unpacked(work), name or place.name)
    except Nothing:
        return Contents(missing=True)
    except Refused as error:
        return Contents(fault=str(error))
    except OSError as error:
        return Contents(fault=f"it cannot be read on this machine: {error.strerror}")


def _of(place: Path, needs: Needs, unpacked: Unpacked, name: str) -> Contents:
    if place.is_dir():
        return _of_folder(place, needs, unpacked)
    if not place.is_file():
        raise Refused("it is neither a folder nor a file")
    selection = select([Item(name)], needs)
    unpacked.copy(dict.fromkeys(selection.taken, place))
    return Contents(unpacked.folder, notes=selection.notes)


def _of_folder(folder: Path, needs: Needs, unpacked: Unpacked) -> Contents:
    """Leave a folder where it is if it holds the course's, and copy kernel files alone."""
    if any(os.path.lexists(folder / shelf / name) for shelf, name in needs.places):
        return Contents(folder)
    items = list(_walk(folder))
    selection = select(items, needs)
    if selection.prefix is not None:
        return Contents(folder / selection.prefix)
    unpacked.copy({path: folder / item.name for path, item in selection.taken.items()})
    return Contents(unpacked.folder, notes=selection.notes)


def _walk(folder: Path) -> Iterator[Item]:
    """Yield what is in a folder and below it, without following links. Raises Refused."""
    count = 0
    for parent, folders, files in os.walk(folder, onerror=_raise):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        folders[:] = sorted(set(folders) - set(links) - IGNORED)
        for name in sorted([*links, *files]):
            count += 1
            if count > MOST_ENTRIES:
                raise Refused(f"it has more than {MOST_ENTRIES:,} files")
            path = os.path.join(parent, name)
            yield Item(os.path.relpath(path, folder), _kind(path))


def _raise(error: OSError) -> None:
    raise error


def _kind(path: str) -> Kind:
    if os.path.islink(path):
        return Kind.LINK
    return Kind.FILE if os.path.isfile(path) else Kind.OTHER
