"""One submission, whatever its form, becomes a plain folder that `classroom.plan` accepts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.classroom.intake import archives, repositories
from grader.classroom.intake.selection import (
    IGNORED,
    Item,
    Kind,
    Needs,
    Nothing,
    Refused,
    select,
)
from grader.classroom.intake.writing import LARGEST_FILE, Unpacked

MOST_ENTRIES = 50_000  # of one submission


@dataclass(frozen=True)
class Contents:
    """The folder with a submission's files; without it, `missing` or `fault` says why."""

    folder: Path | None = None
    missing: bool = False
    fault: str = ""
    notes: tuple[str, ...] = ()


def read(place: Path, needs: Needs, work: Path, name: str = "") -> Contents:
    """Read one submission; what has to be written goes into the new folder `work`.

    `name` is that of a file without what a learning system puts before it. Raises CannotGrade where
    `work` cannot be written.
    """
    unpacked = Unpacked(work)
    try:
        return _of(place, needs, unpacked, name or place.name)
    except Nothing:
        contents = Contents(missing=True)
    except Refused as error:
        contents = Contents(fault=str(error))
    except OSError as error:
        contents = Contents(fault=f"it cannot be read on this machine: {error.strerror}")
    unpacked.remove()
    return contents


def _of(place: Path, needs: Needs, unpacked: Unpacked, name: str) -> Contents:
    if place.is_dir():
        repository = repositories.folder_of(place)
        if repository is None:
            return _of_folder(place, needs, unpacked)
        return _of_repository(place, repository, needs, unpacked)
    if not place.is_file():
        raise Refused("it is neither a folder nor a file")
    return _of_file(place, needs, unpacked, name)


def _of_file(place: Path, needs: Needs, unpacked: Unpacked, name: str) -> Contents:
    if archives.is_archive(place):
        return Contents(unpacked.folder, notes=archives.unpack(place, needs, unpacked))
    selection = select([Item(name)], needs)
    unpacked.copy(dict.fromkeys(selection.taken, place))
    return Contents(unpacked.folder, notes=selection.notes)


def _of_repository(place: Path, repository: Path, needs: Needs, unpacked: Unpacked) -> Contents:
    """Take the commit; or the files that lie in the folder if there is no commit to take."""
    try:
        notes = repositories.check_out(repository, needs, unpacked)
    except (Nothing, Refused) as error:
        if repository == place:
            raise
        unpacked.remove()
        contents = _of_folder(place, needs, unpacked)
        why = str(error) or "the commit holds no files"
        notes = (f"the files in the folder count, not a commit: {why}", *contents.notes)
        return replace(contents, notes=notes)
    return Contents(unpacked.folder, notes=(*notes, *_changed(place, unpacked.folder)))


def _changed(place: Path, committed: Path) -> Iterator[str]:
    """Yield a note for each file that lies in a repository otherwise than it was committed."""
    for path in sorted(committed.rglob("*.py")):
        name = path.relative_to(committed)
        own = place / name
        if own.is_file() and _lines(own) != _lines(path):
            yield f"{name} was changed after the commit: the commit counts"


def _lines(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LARGEST_FILE).replace(b"\r\n", b"\n")


def _of_folder(folder: Path, needs: Needs, unpacked: Unpacked) -> Contents:
    """Leave a folder where it is if it holds the course's; else take what it holds instead.

    It is copied if no report could show its path: the judge would not take a kernel from there.
    """
    stays = str(folder).isprintable()
    if stays and any(os.path.lexists(folder / shelf / name) for shelf, name in needs.places):
        return Contents(folder)
    items = list(_walk(folder))
    try:
        selection = select(items, needs)
    except Refused:
        files = (item.name for item in items if item.kind is Kind.FILE)
        packed = [name for name in files if name.casefold().endswith(archives.SUFFIXES)]
        if len(packed) != 1:
            raise
        return _of_file(folder / packed[0], needs, unpacked, packed[0])
    if stays and selection.prefix is not None:
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
