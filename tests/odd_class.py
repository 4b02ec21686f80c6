"""A made-up class of 34 students, each with another odd submission, as files.

Everybody hands in the puzzle p01_map and the exercise 01_vector_add, which are quick to grade.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAP, ADD = "p01_map", "01_vector_add"
EXERCISES = (MAP, ADD)
PLACES = {MAP: f"puzzles/{MAP}/kernel.py", ADD: f"exercises/{ADD}/kernel.py"}
# The programs of a hostile repository write a file of this name in the folder of the class.
TRACE = "a-hook-ran"
PASS, FAIL, NOT_STARTED = "pass", "fail", "not_started"
MISSING, UNREADABLE = "missing", "unreadable"
Files = Mapping[str, bytes]


def _right() -> dict[str, bytes]:
    solutions = ROOT / "solutions"
    return {place: (solutions / name / "kernel.py").read_bytes() for name, place in PLACES.items()}


def _wrong() -> dict[str, bytes]:
    solutions = ROOT / "solutions"
    return {
        PLACES[MAP]: (solutions / MAP / "wrong_off_by_one.py").read_bytes(),
        PLACES[ADD]: (solutions / ADD / "wrong_adds_x_twice.py").read_bytes(),
    }


def _stub() -> dict[str, bytes]:
    return {place: (ROOT / place).read_bytes() for place in PLACES.values()}


def _map_as(content: bytes) -> dict[str, bytes]:
    return _right() | {PLACES[MAP]: content}


@dataclass(frozen=True)
class Odd:
    """One student: the row in the roster, and what happens to each of the two exercises.

    `hand_in` writes the submission into the folder of all submissions.
    """

    login: str
    expected: Mapping[str, str]
    hand_in: Callable[[Path], None]
    name: str = ""
    group: str = ""


@dataclass(frozen=True)
class OddClass:
    """`expected` says, by login and exercise, pass, fail, not_started, missing or unreadable."""

    roster: Path
    submissions: Path
    expected: Mapping[str, Mapping[str, str]]


BOTH = {word: dict.fromkeys(EXERCISES, word) for word in (PASS, FAIL, NOT_STARTED)}
NOTHING = dict.fromkeys(EXERCISES, MISSING)
NOT_READ = dict.fromkeys(EXERCISES, UNREADABLE)


def make(folder: Path) -> OddClass:
    """Write the roster and the submissions of the class into a folder."""
    submissions = folder / "submissions"
    submissions.mkdir(parents=True)
    students = _students(folder)
    for student in students:
        student.hand_in(submissions)
    fill(submissions / "nobody", _right())
    (submissions / "stray\nname").write_bytes(b"")
    (submissions / "submitted.csv").write_text(
        "login,time\nright,2026-11-20T10:00:00Z\nzip,2026-11-23T10:00:00+01:00\n"
        "two,2026-11-20T10:00:00Z\nkernels-two.zip,2026-11-20T12:00:00Z\n"
    )
    rows = [f'{one.login},"{one.name or one.login}",{one.group}' for one in students]
    # The roster is odd, too: a student twice, a line without a login, and a name with a line feed.
    rows += ["ZIP,The same student,", ",Nobody,"]
    roster = folder / "roster.csv"
    roster.write_text("\n".join(["login,name,group", *rows, ""]), encoding="utf-8-sig")
    return OddClass(roster, submissions, {one.login: one.expected for one in students})


def _students(folder: Path) -> list[Odd]:
    map_fails = {MAP: FAIL, ADD: PASS}
    map_is_missing = {MAP: NOT_STARTED, ADD: PASS}
    return [
        *_plain(map_fails),
        *_packed(map_is_missing),
        *_repositories(folder),
        *_named(),
        Odd("linked", map_fails, _with_link),
        Odd("changed", BOTH[PASS], _folder("changed", _right() | _changed_spec())),
        Odd("deep", BOTH[PASS], _folder("deep/a/b/c", _right())),
    ]


def _plain(map_fails: Mapping[str, str]) -> list[Odd]:
    """Students who hand in folders, some of them with kernel files that are none."""
    large = b"# a comment\n" * 200_000
    return [
        Odd("right", BOTH[PASS], _folder("right", _right())),
        Odd("wrong", BOTH[FAIL], _folder("wrong", _wrong())),
        Odd("stub", BOTH[NOT_STARTED], _folder("stub", _stub())),
        Odd("missing", NOTHING, lambda submissions: None),
        Odd("emptied", NOTHING, _folder("emptied", {})),
        Odd("blank", map_fails, _folder("blank", _map_as(b""))),
        Odd("binary", map_fails, _folder("binary", _map_as(bytes(range(256))))),
        Odd("latin", map_fails, _folder("latin", _map_as("# é\n".encode("latin-1")))),
        Odd("syntax", map_fails, _folder("syntax", _map_as(b"def add_ten(a, out:\n"))),
        Odd("large", map_fails, _folder("large", _map_as(large))),
        Odd("copied", BOTH[PASS], _folder("copied", _right())),
    ]


def _packed(map_is_missing: Mapping[str, str]) -> list[Odd]:
    """Students who hand in archives."""
    out = {"../../evil.py": b"raise SystemExit", "/tmp/evil.py": b"raise SystemExit"}
    bomb = zipped(_map_as(bytes(16 << 20)))
    return [
        Odd("zip", BOTH[PASS], _file("zip.zip", zipped(_right()))),
        Odd("inner", BOTH[PASS], _file("inner.zip", zipped(_within("kernels-main", _right())))),
        Odd("tar", BOTH[PASS], _file("tar.tar.gz", tarred(_right()))),
        Odd("dots", BOTH[PASS], _file("dots.zip", zipped(_right() | out))),
        Odd("bomb", NOT_READ, _file("bomb.zip", bomb)),
        Odd("links", map_is_missing, _file("links.tar", _tar_with_links())),
        Odd("secret", NOT_READ, _file("secret.zip", encrypted(zipped(_right())))),
        Odd("damaged", NOT_READ, _file("damaged.zip", zipped(_right())[:-40])),
        Odd("rar", NOT_READ, _file("rar.rar", b"Rar!\x1a\x07\x01\x00" + bytes(100))),
    ]


def _repositories(folder: Path) -> list[Odd]:
    return [
        Odd("git", BOTH[PASS], lambda submissions: repository(submissions / "git", _right())),
        Odd("bare", BOTH[PASS], _bare),
        Odd("hooked", BOTH[PASS], lambda submissions: _hooked(submissions, folder / TRACE)),
    ]


def _named() -> list[Odd]:
    """Students whose submission has another name than their login."""
    moodle = "Ada King Lovelace_123456_assignsubmission_file_"
    canvas = "turingalan_LATE_1234_5678_kernels.zip"
    return [
        Odd("line", BOTH[PASS], _folder("line", _right()), name="A name\nof two lines"),
        Odd("OddCase", BOTH[PASS], _folder("oddcase", _right())),
        Odd("first", BOTH[PASS], _folder("first", _right()), group="pair"),
        Odd("second", BOTH[PASS], lambda submissions: None, group="pair"),
        Odd("two", BOTH[PASS], _two),
        Odd("lone", NOT_READ, _file("lone.py", _right()[PLACES[ADD]])),
        Odd("moodle", BOTH[PASS], _folder(moodle, _right()), name="Ada King Lovelace"),
        Odd("canvas", BOTH[PASS], _file(canvas, zipped(_right())), name="Turing, Alan"),
    ]


def fill(folder: Path, files: Files) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _folder(name: str, files: Files) -> Callable[[Path], None]:
    return lambda submissions: fill(submissions / name, files)


def _file(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda submissions: fill(submissions, {name: content})


def _within(folder: str, files: Files) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in files.items()}


def zipped(files: Files) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def encrypted(archive: bytes) -> bytes:
    """Set the bit that says so in all headers: nobody knows the password."""
    content = bytearray(archive)
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.find(signature)
        while at >= 0:
            content[at + flags] |= 1
            at = content.find(signature, at + 1)
    return bytes(content)


def tarred(files: Files, mode: str = "w:gz", links: Mapping[str, tuple[bytes, str]] = {}) -> bytes:
    """Pack files, and links by their path: the kind of link and where it leads."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for name, (kind, target) in links.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
    return packed.getvalue()


def _tar_with_links() -> bytes:
    """A kernel that is a link out, and a folder that is one with a file behind it."""
    files = {PLACES[ADD]: _right()[PLACES[ADD]], "exercises/out/evil.py": b"raise SystemExit"}
    links = {
        "exercises/out": (tarfile.SYMTYPE, "../../.."),
        PLACES[MAP]: (tarfile.SYMTYPE, "/etc/passwd"),
        "puzzles/p01_map/hard.py": (tarfile.LNKTYPE, "/etc/passwd"),
    }
    return tarred(files, "w", links)


def _with_link(submissions: Path) -> None:
    fill(submissions / "linked", {PLACES[ADD]: _right()[PLACES[ADD]]})
    link = submissions / "linked" / PLACES[MAP]
    link.parent.mkdir(parents=True)
    link.symlink_to("/etc/passwd")


def _changed_spec() -> dict[str, bytes]:
    place = f"exercises/{ADD}/spec.py"
    return {place: (ROOT / place).read_bytes() + b"\nSPEC = None\n"}


def _two(submissions: Path) -> None:
    """Two submissions: the wrong one came first, as `submitted.csv` says."""
    fill(submissions / "two", _wrong())
    fill(submissions, {"kernels-two.zip": zipped(_right())})


def git(folder: Path, *arguments: str) -> None:
    named = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "Ada")
    mailed = dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "ada@example.org")
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        env=os.environ | named | mailed | own,
    )


def repository(folder: Path, files: Files) -> None:
    fill(folder, files)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Kernels")


def _bare(submissions: Path) -> None:
    repository(submissions / "of-bare", _right())
    git(submissions, "clone", "--quiet", "--bare", "of-bare", "kernels-bare.git")
    shutil.rmtree(submissions / "of-bare")


def _hooked(submissions: Path, trace: Path) -> None:
    """A repository that runs a program wherever git lets it."""
    folder = submissions / "hooked"
    attributes = b"*.py filter=evil diff=evil export-subst\nexercises export-ignore\n"
    repository(folder, _right() | {".gitattributes": attributes})
    program = folder / ".git" / "evil"
    program.write_text(f"#!/bin/sh\ntouch '{trace}'\ncat\n")
    program.chmod(0o755)
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor"):
        shutil.copy(program, folder / ".git" / "hooks" / hook)
    for name in (
        *("filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "core.fsmonitor"),
        *("core.pager", "core.sshCommand", "core.alternateRefsCommand", "tar.tar.command"),
    ):
        git(folder, "config", name, str(program))
    git(folder, "config", "core.hooksPath", str(folder / ".git" / "hooks"))
    # A missing object would be fetched, by a transport that is a command.
    git(folder, "config", "core.repositoryFormatVersion", "1")
    git(folder, "config", "extensions.partialClone", "origin")
    git(folder, "config", "remote.origin.url", f"ext::{program}")
    git(folder, "config", "remote.origin.promisor", "true")
    git(folder, "config", "protocol.ext.allow", "always")
    trace.unlink(missing_ok=True)  # some ran as the repository was made
