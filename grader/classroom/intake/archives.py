"""Zip and tar archives from anybody, of which only the course's files are unpacked.

No header is trusted: entries are counted as they are listed, and bytes as they are read. An archive
is listed whole before anything of it is written. Links, devices and archives within are not
unpacked, and nothing gets its owner, permissions or time from an archive.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import mmap
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from grader.classroom.intake.selection import Item, Kind, Needs, Nothing, Refused, select
from grader.classroom.intake.writing import Unpacked
from grader.model import CannotGrade, texts

SUFFIXES = (
    *(".tar.gz", ".tar.xz", ".tar.bz2", ".tgz", ".txz", ".tbz2", ".tbz", ".tar", ".zip"),
    *(".7z", ".rar"),
)
LARGEST_ARCHIVE = 256 << 20  # bytes
MOST_ENTRIES = 50_000
MOST_STREAM = 512 << 20  # bytes that a tar archive has unpacked, its other files included
LARGEST_READ = 16 << 20  # bytes at once: of a header that is one, at most
_SKIP = 1 << 20  # bytes read at once to get past a file
_ZIP_ENTRY = b"PK\x01\x02"  # in the list at a zip archive's end
_READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MAGIC_BYTES = 512
_UNREAD = {b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!": "rar"}
_OPENERS: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}


def is_archive(path: Path) -> bool:
    """Report whether its name or its first bytes show that a file is an archive. Raises OSError."""
    if path.name.casefold().endswith(SUFFIXES):
        return True
    start = _start(path)
    return start.startswith((b"PK\x03\x04", b"PK\x05\x06", *_UNREAD)) or _is_tar(start)


def unpack(path: Path, needs: Needs, unpacked: Unpacked) -> tuple[str, ...]:
    """Write the course's files of an archive, and return notes on it.

    Raises Nothing, Refused, CannotGrade where they cannot be written, and OSError where the
    archive cannot be read.
    """
    start = _start(path)
    for magic, name in _UNREAD.items():
        if start.startswith(magic):
            raise Refused(f"it is a {name} archive, and only .zip and .tar archives are read")
    if path.stat().st_size > LARGEST_ARCHIVE:
        raise Refused(f"it has more than {LARGEST_ARCHIVE:,} bytes")
    try:
        if _is_tar(start) or path.suffix.casefold() == ".tar":
            return _unpack_tar(path, needs, unpacked)
        return _unpack_zip(path, needs, unpacked)
    except (Nothing, Refused, CannotGrade):
        raise
    except Exception as error:  # these readers raise almost anything for a damaged archive
        why = texts.one_line(str(error), 100) or type(error).__name__
        raise Refused(f"it is a damaged archive ({why})") from None


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MAGIC_BYTES)


def _is_tar(start: bytes) -> bool:
    return start.startswith(tuple(_OPENERS)) or start[257:262] == b"ustar"


def _unpack_zip(path: Path, needs: Needs, unpacked: Unpacked) -> tuple[str, ...]:
    _require_few_entries(path)
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        selection = select((_of_zip(one, n) for n, one in enumerate(members)), needs)
        for place, item in selection.taken.items():
            member = members[item.number]
            if member.flag_bits & 1:
                raise Refused("it is encrypted, and no password is known")
            if member.compress_type not in _READABLE:
                raise Refused("it is compressed in another way than zip archives usually are")
            with archive.open(member) as file:
                unpacked.write(place, cast(BinaryIO, file))
    return selection.notes


def _require_few_entries(path: Path) -> None:
    """Raise Refused for too many entries, of which zipfile would make records at once."""
    if not path.stat().st_size:
        raise Refused("it is empty")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        at, count = content.find(_ZIP_ENTRY), 0
        while at >= 0:
            count += 1
            if count > MOST_ENTRIES:
                raise Refused(f"it has more than {MOST_ENTRIES:,} entries")
            at = content.find(_ZIP_ENTRY, at + 1)


def _of_zip(member: zipfile.ZipInfo, number: int) -> Item:
    mode = member.external_attr >> 16
    if stat.S_ISLNK(mode):
        return Item(member.filename, Kind.LINK, number)
    if member.is_dir() or stat.S_ISDIR(mode):
        return Item(member.filename, Kind.FOLDER, number)
    plain = not stat.S_IFMT(mode) or stat.S_ISREG(mode)
    return Item(member.filename, Kind.FILE if plain else Kind.OTHER, number)


def _unpack_tar(path: Path, needs: Needs, unpacked: Unpacked) -> tuple[str, ...]:
    """Read the archive twice, forward alone: once for its list, once for the files."""
    items = [_of_tar(member, number) for number, (_, member) in enumerate(_members(path))]
    selection = select(items, needs)
    places = {item.number: place for place, item in selection.taken.items()}
    for number, (archive, member) in enumerate(_members(path)):
        if number in places:
            file = archive.extractfile(member)
            assert file is not None  # it is a plain file
            unpacked.write(places[number], cast(BinaryIO, file))
    return selection.notes


def _members(path: Path) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    with path.open("rb") as file:
        start = file.read(_MAGIC_BYTES)
        file.seek(0)
        opened = next((o for magic, o in _OPENERS.items() if start.startswith(magic)), None)
        stream = _Forward(opened(file) if opened else file)
        with tarfile.open(fileobj=cast(BinaryIO, stream), mode="r:") as archive:
            for number, member in enumerate(archive):
                if number == MOST_ENTRIES:
                    raise Refused(f"it has more than {MOST_ENTRIES:,} entries")
                yield archive, member
        if stream.last != bytes(tarfile.BLOCKSIZE):  # where it is damaged, tarfile just ends
            raise Refused("it is a damaged archive (its end is missing)")
        while stream.read(_SKIP):  # checksums are at the end, and so does a cut file end too early
            pass


def _of_tar(member: tarfile.TarInfo, number: int) -> Item:
    if member.isdir():
        kind = Kind.FOLDER
    elif member.islnk() or member.issym():
        kind = Kind.LINK
    else:
        kind = Kind.FILE if member.isreg() else Kind.OTHER
    return Item(member.name, kind, number)


class _Forward:
    """A stream that is read once and forward, and not beyond the limits.

    A header that claims a negative size would send tarfile back, and in circles for ever.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._at = 0
        self.last = b""

    def tell(self) -> int:
        return self._at

    def seek(self, to: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or to < self._at:
            raise Refused("it is a damaged archive (a size in it is impossible)")
        while self._at < to and self.read(min(_SKIP, to - self._at)):
            pass
        return self._at

    def read(self, size: int) -> bytes:
        if not 0 <= size <= LARGEST_READ:
            raise Refused("it is a damaged archive (a header in it is too long)")
        self.last = content = self._stream.read(size)
        self._at += len(content)
        if self._at > MOST_STREAM:
            raise Refused(f"it unpacks to more than {MOST_STREAM:,} bytes")
        return content
