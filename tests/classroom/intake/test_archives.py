"""Archives from anybody: each attack is refused by name or left out, and nothing is outside."""

from __future__ import annotations

import io
import os
import resource
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from odd_class import encrypted, tarred, zipped

from grader.classroom.intake import archives, contents, writing
from grader.classroom.intake.contents import Contents
from grader.classroom.intake.selection import needs_of
from grader.course import catalog
from grader.model.errors import CannotGrade

SMALL = Path(__file__).parents[2] / "courses" / "small"
NEEDS = needs_of(catalog.exercises(SMALL))
KERNEL, OTHER = "exercises/01_double/kernel.py", "exercises/02_row_sum/kernel.py"
GOOD = {KERNEL: b"x = 1\n"}


def read(folder: Path, name: str, content: bytes) -> Contents:
    place = folder / "submissions" / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(content)
    return contents.read(place, NEEDS, folder / "work")


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


PACKED = {
    "a.zip": zipped(GOOD),
    "a.tar": tarred(GOOD, "w"),
    "a.tar.gz": tarred(GOOD, "w:gz"),
    "a.tgz": tarred(GOOD, "w:gz"),
    "a.tar.xz": tarred(GOOD, "w:xz"),
    "a.tar.bz2": tarred(GOOD, "w:bz2"),
}


@pytest.mark.parametrize("name", PACKED)
def test_each_kind_of_archive_is_unpacked(name: str, tmp_path: Path):
    found = read(tmp_path, name, PACKED[name])
    assert (files(tmp_path / "work"), found.fault, found.notes) == (GOOD, "", ())


def test_an_archive_is_known_by_its_content_where_its_name_is_another(tmp_path: Path):
    assert read(tmp_path, "a.zip", PACKED["a.tar.gz"]).folder
    assert read(tmp_path, "no-suffix", PACKED["a.zip"]).folder


def test_only_what_the_course_needs_is_written(tmp_path: Path):
    noise = {
        "README.md": b"",
        "exercises/01_double/notes/deep.py": b"",
        "exercises/99_unknown/kernel.py": b"",
        "solutions/01_double/kernel.py": b"",
        ".git/hooks/post-checkout": b"",
        "__MACOSX/exercises/01_double/._kernel.py": b"",
        "exercises/01_double/.hidden.py": b"",
        "inner.zip": PACKED["a.zip"],
    }
    taken = GOOD | {"exercises/01_double/spec.py": b"SPEC\n", "release.json": b"{}"}
    read(tmp_path, "a.zip", zipped(noise | taken))
    assert files(tmp_path / "work") == taken


@pytest.mark.parametrize("prefix", ["kernels-main/", "a/b/c/d/e/f/", "./", "one\\two\\"])
def test_the_course_may_lie_in_folders(prefix: str, tmp_path: Path):
    read(tmp_path, "a.zip", zipped({prefix + name: content for name, content in GOOD.items()}))
    assert files(tmp_path / "work") == GOOD


def test_the_course_twice_is_refused_for_either_could_be_meant(tmp_path: Path):
    twice = {f"{folder}/{KERNEL}": b"" for folder in ("old", "new")}
    assert "more than once" in read(tmp_path, "a.zip", zipped(twice)).fault


UNSAFE = {
    "up": "../../evil.py",
    "up-within": f"exercises/../../../{KERNEL}",
    "absolute": f"/{KERNEL}",
    "drive": f"C:\\{KERNEL}",
    "backslashes": f"..\\..\\{KERNEL}",
    "line-feed": "exercises/01_double/a\nb.py",
    "long": f"exercises/01_double/{'x' * 300}.py",
    "reversed": "exercises/01_double/\u202egnp.py",
}


@pytest.mark.parametrize("packed", [zipped, tarred], ids=["zip", "tar"])
@pytest.mark.parametrize("name", UNSAFE.values(), ids=UNSAFE.keys())
def test_an_unsafe_name_is_left_out_and_noted(name: str, packed, tmp_path: Path):
    found = read(tmp_path, "a", packed(GOOD | {name: b"evil"}))
    assert "unsafe names" in found.notes[0]
    assert files(tmp_path / "work") == GOOD
    assert set(files(tmp_path)) == {"submissions/a", f"work/{KERNEL}"}


def test_a_name_that_is_not_utf_8_is_left_out(tmp_path: Path):
    header = tarfile.TarInfo("exercises/01_double/\udcff.py").tobuf(tarfile.GNU_FORMAT)
    found = read(tmp_path, "a.tar", header + tarred(GOOD, "w"))
    assert "unsafe names" in found.notes[0]
    assert files(tmp_path / "work") == GOOD


LINKS = {
    "symbolic": (tarfile.SYMTYPE, "/etc/passwd"),
    "hard": (tarfile.LNKTYPE, "/etc/passwd"),
    "device": (tarfile.CHRTYPE, ""),
    "pipe": (tarfile.FIFOTYPE, ""),
}


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS.keys())
def test_a_link_or_device_is_not_taken(link: tuple[bytes, str], tmp_path: Path):
    found = read(tmp_path, "a.tar", tarred(GOOD, "w", {OTHER: link}))
    assert OTHER in found.notes[0]
    assert files(tmp_path / "work") == GOOD


def test_a_file_behind_a_link_out_stays_within(tmp_path: Path):
    links = {"exercises/01_double": (tarfile.SYMTYPE, "../../outside")}
    read(tmp_path, "a.tar", tarred({OTHER: b"", KERNEL: b"evil"}, "w", links))
    assert set(files(tmp_path)) == {"submissions/a.tar", f"work/{KERNEL}", f"work/{OTHER}"}


def test_a_link_in_a_zip_is_not_taken(tmp_path: Path):
    packed = io.BytesIO(zipped(GOOD))
    with zipfile.ZipFile(packed, "a") as archive:
        member = zipfile.ZipInfo(OTHER)
        member.external_attr = 0o120777 << 16
        archive.writestr(member, "/etc/passwd")
    assert "is a link" in read(tmp_path, "a.zip", packed.getvalue()).notes[0]


def test_an_archive_of_links_alone_is_refused(tmp_path: Path):
    links = {KERNEL: (tarfile.SYMTYPE, "/etc/passwd")}
    assert "is a link" in read(tmp_path, "a.tar", tarred({}, "w", links)).fault


def test_of_two_files_with_one_path_the_later_counts(tmp_path: Path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(KERNEL, "first")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(KERNEL, "second")
    found = read(tmp_path, "a.zip", packed.getvalue())
    assert files(tmp_path / "work") == {KERNEL: b"second"}
    assert "twice" in found.notes[0]


@pytest.mark.parametrize("turned", [False, True])
def test_of_paths_that_differ_in_case_the_small_one_counts(turned: bool, tmp_path: Path):
    named = [(KERNEL, b"small"), (KERNEL.replace("kernel", "Kernel"), b"large")]
    found = read(tmp_path, "a.zip", zipped(dict(named[::-1] if turned else named)))
    assert files(tmp_path / "work") == {KERNEL: b"small"}
    assert "case" in found.notes[0]


@contextmanager
def little_memory(most: int) -> Iterator[None]:
    """Fails where more bytes were allocated at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("packed", [zipped, tarred], ids=["zip", "tar"])
def test_a_bomb_is_refused_before_it_is_written(packed, tmp_path: Path):
    bomb = packed(GOOD | {OTHER: bytes(60 << 20)})
    assert len(bomb) < 1 << 20
    with little_memory(40 << 20):
        found = read(tmp_path, "a", bomb)
    assert OTHER in found.fault
    assert not (tmp_path / "work").exists()


@pytest.mark.slow
@pytest.mark.parametrize("packed", [zipped, tarred], ids=["zip", "tar"])
def test_many_large_files_are_refused_together(packed, tmp_path: Path):
    large = bytes(writing.LARGEST_FILE)
    count = writing.MOST_BYTES // len(large) + 1
    bomb = packed({f"exercises/01_double/{n}.py": large for n in range(count)})
    assert f"{writing.MOST_BYTES:,}" in read(tmp_path, "a", bomb).fault


def test_what_is_not_taken_may_be_large_in_a_zip_and_has_a_limit_in_a_tar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """To get past a file in a tar archive, it has to be unpacked."""
    monkeypatch.setattr(archives, "MOST_STREAM", 4 << 20)
    large = {"data.bin": bytes(8 << 20)} | GOOD
    assert read(tmp_path, "a.zip", zipped(large)).folder
    assert f"{4 << 20:,}" in read(tmp_path, "a.tar.xz", tarred(large, "w:xz")).fault


@pytest.mark.parametrize("packed", [zipped, tarred], ids=["zip", "tar"])
def test_too_many_entries_are_refused(packed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archives, "MOST_ENTRIES", 20)
    many = {f"{number}.txt": b"" for number in range(20)}
    assert read(tmp_path, "a", packed(dict(list(many.items())[1:]) | GOOD)).folder
    assert "20 entries" in read(tmp_path, "b", packed(many | GOOD)).fault


def test_a_sparse_file_of_10_gigabytes_is_refused(tmp_path: Path):
    """Its archive has two kilobytes: GNU tar stores where there is data, and here is none."""
    size = 10 << 30
    header = bytearray(tarfile.TarInfo(KERNEL).tobuf(tarfile.GNU_FORMAT))
    header[156:157] = b"S"
    header[386:398], header[398:410] = b"%011o\0" % size, b"%011o\0" % 0
    header[483:495] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    with little_memory(60 << 20):
        found = read(tmp_path, "a.tar", bytes(header) + bytes(1024))
    assert KERNEL in found.fault


def test_sizes_that_a_zip_claims_are_not_believed(tmp_path: Path):
    """The headers say one byte, as for a program that asks how much will be written."""
    packed = bytearray(zipped({KERNEL: bytes(40 << 20)}))
    at = packed.find(b"PK\x01\x02")
    packed[at + 24 : at + 28] = struct.pack("<I", 1)
    packed[22:26] = struct.pack("<I", 1)
    found = read(tmp_path, "a.zip", bytes(packed))
    assert "damaged" in found.fault


def test_a_size_below_zero_does_not_send_the_reader_in_circles(tmp_path: Path):
    """So it does in tarfile itself (CVE-2025-8194)."""
    member = tarfile.TarInfo("large")
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[124:136] = b"\xff" * 10 + b"\xfc\x00"  # -1024
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    found = read(tmp_path, "a.tar", bytes(header) + tarred(GOOD, "w"))
    assert "damaged" in found.fault


def test_a_header_that_is_too_long_is_not_read_into_memory(tmp_path: Path):
    member = tarfile.TarInfo("././@PaxHeader")
    member.type, member.size = tarfile.XHDTYPE, 1 << 30
    with little_memory(60 << 20):
        found = read(tmp_path, "a.tar", member.tobuf(tarfile.USTAR_FORMAT) + bytes(1024))
    assert "too long" in found.fault


def test_compression_that_takes_memory_without_limit_is_refused(tmp_path: Path):
    """Python unpacks bzip2 and LZMA within a zip as a whole."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr(KERNEL, b"")
    assert "compressed" in read(tmp_path, "a.zip", packed.getvalue()).fault


DAMAGED: Mapping[str, bytes] = {
    "empty.zip": b"",
    "empty.tar.gz": b"",
    "cut.zip": PACKED["a.zip"][:-30],
    "cut.tar.gz": PACKED["a.tar.gz"][:-30],
    "cut.tar.xz": PACKED["a.tar.xz"][:-30],
    "cut.tar.bz2": PACKED["a.tar.bz2"][:-30],
    "cut.tar": PACKED["a.tar"][:1024],
    "changed.tar": PACKED["a.tar"][:1024] + PACKED["a.tar"].replace(b"double", b"trifle"),
    "text.zip": b"I forgot to hand in\n",
    "text.tar": b"I forgot to hand in\n",
    "kernel.py.gz": b"\x1f\x8b" + bytes(20),
    "bad-sum.zip": PACKED["a.zip"].replace(struct.pack("<I", zlib.crc32(GOOD[KERNEL])), b"1234"),
    "bad-sum.tar.gz": PACKED["a.tar.gz"][:-8] + b"1234" + PACKED["a.tar.gz"][-4:],
    "locked.zip": encrypted(PACKED["a.zip"]),
    "a.7z": b"7z\xbc\xaf\x27\x1c" + bytes(40),
    "a.rar": b"Rar!\x1a\x07" + bytes(40),
    "rar.zip": b"Rar!\x1a\x07" + bytes(40),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_cannot_be_read_is_a_fault_and_raises_nothing(name: str, tmp_path: Path):
    found = read(tmp_path, name, DAMAGED[name])
    assert found.fault
    assert found.folder is None
    assert not (tmp_path / "work").exists()


def test_an_archive_without_files_was_handed_in_empty(tmp_path: Path):
    assert read(tmp_path, "a.zip", zipped({})).missing
    assert read(tmp_path, "a.zip", zipped({"__MACOSX/._a": b"", "exercises/": b""})).missing


def test_unpacking_again_leaves_nothing_of_the_time_before(tmp_path: Path):
    read(tmp_path, "a.zip", zipped(GOOD | {OTHER: b""}))
    read(tmp_path, "a.zip", zipped(GOOD))
    assert files(tmp_path / "work") == GOOD


def test_a_disk_that_is_full_is_no_fault_of_the_student(tmp_path: Path):
    """A limit on the size of files fails as a full disk does, and needs none."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    packed = zipped({KERNEL: os.urandom(200_000)})
    place = tmp_path / "a.zip"
    place.write_bytes(packed)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(CannotGrade):
            contents.read(place, NEEDS, tmp_path / "work")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
