"""Git repositories from anybody: the course's files of the commit that HEAD names.

A repository is a program: its configuration can name commands as hooks, filters, transports and
file system monitors. git never reads it here. It reads the objects alone, from an empty repository
of ours, and prints files as they are stored: no attribute changes them.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.classroom.intake import git_refs
from grader.classroom.intake.selection import Item, Kind, Needs, Refused, select
from grader.classroom.intake.writing import MOST_BYTES, Unpacked
from grader.model import CannotGrade

MOST_OBJECTS = 300_000  # files below objects/
MOST_LISTED = 16 << 20  # bytes of the list of a commit's files
# A repository of a few kilobytes can keep git busy for years.
MOST_SECONDS, MOST_KIB = 60, 4 << 20  # of a processor, and of memory, for one call
_LIMITED = ("sh", "-c", f'ulimit -t {MOST_SECONDS} && ulimit -v {MOST_KIB} && exec "$@"', "sh")
_SHA1_DIGITS = 40
_CONFIG = "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n"
_SHA256 = "[extensions]\n\tobjectformat = sha256\n"
_LINK_MODE = b"120000"
_LISTED = re.compile(rb"(?P<mode>\d+) (?P<type>\w+) (?P<hash>[0-9a-f]+)\t(?P<name>.+)", re.DOTALL)
_SIZE = re.compile(rb"[0-9a-f]+ blob (\d+)\n")
_HEADING = 200  # bytes before and behind a file in what git prints, at most


def folder_of(place: Path) -> Path | None:
    """Return the folder with a repository's own files, or None if `place` is not a repository.

    A link or a file named `.git` may lead anywhere, and is not followed.
    """
    inner = place / ".git"
    candidates = (place,) if inner.is_symlink() else (inner, place)
    for folder in candidates:
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
            return folder
    return None


def check_out(repository: Path, needs: Needs, unpacked: Unpacked) -> tuple[str, ...]:
    """Write the course's files of the commit that HEAD names, and return notes on them.

    Raises Refused, selection.Nothing, CannotGrade where git is missing or files cannot be written,
    and OSError where the repository cannot be read.
    """
    _require_plain(repository / "objects")
    commit, notes = git_refs.commit(repository)
    with tempfile.TemporaryDirectory(prefix="grader-intake-") as empty:
        git = _git(Path(empty), repository / "objects", commit)
        listed = _listed(_output(git, ("ls-tree", "-r", "-z", commit), MOST_LISTED))
        selection = select((item for item, _ in listed), needs)
        hashes = {path: listed[item.number][1] for path, item in selection.taken.items()}
        for path, content in _contents(git, hashes):
            unpacked.write(path, io.BytesIO(content))
    return (f"commit {commit[:12]}", *notes, *selection.notes)


def _require_plain(objects: Path) -> None:
    """Raise Refused for objects that are somewhere else: they may be another student's."""
    count = 0
    for parent, folders, files in os.walk(objects):
        count += len(files)
        if count > MOST_OBJECTS:
            raise Refused(f"its repository has more than {MOST_OBJECTS:,} files: it needs `git gc`")
        for name in (*folders, *files):
            mode = os.lstat(os.path.join(parent, name)).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise Refused("its repository holds links among its objects")
    borrowed = (objects / "info" / name for name in ("alternates", "http-alternates"))
    if objects.is_symlink() or any(path.exists() for path in borrowed):
        raise Refused("its repository borrows objects of another one: it needs a full `git clone`")


@dataclass(frozen=True)
class _Git:
    command: tuple[str, ...]
    environment: Mapping[str, str]


def _git(empty: Path, objects: Path, commit: str) -> _Git:
    """Return git on an empty repository of ours, with the objects of another.

    Raises CannotGrade where git is not installed.
    """
    git = shutil.which("git")
    if git is None:
        raise CannotGrade(
            "A git repository was handed in, and git is not installed.",
            "Install git, then run the command again.",
        )
    is_sha1 = len(commit) == _SHA1_DIGITS
    config = _CONFIG.format(version=0 if is_sha1 else 1) + ("" if is_sha1 else _SHA256)
    (empty / "config").write_text(config)
    (empty / "HEAD").write_text("ref: refs/heads/main\n")
    (empty / "refs").mkdir()
    return _Git(
        (*_LIMITED, git, "-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false"),
        {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(empty),
            "GIT_DIR": str(empty),
            "GIT_OBJECT_DIRECTORY": str(objects.resolve()),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        },
    )


def _output(git: _Git, arguments: tuple[str, ...], most: int, typed: bytes = b"") -> bytes:
    """Return what git prints. Raises Refused where it fails, or prints more than `most` bytes."""
    with tempfile.TemporaryFile() as stdin:
        stdin.write(typed)
        stdin.seek(0)
        process = subprocess.Popen(
            (*git.command, *arguments),
            env=git.environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        with process:
            assert process.stdout is not None
            output = process.stdout.read(most + 1)
            if len(output) > most:
                process.kill()
                raise Refused("its repository is too large")
    if process.returncode:
        raise Refused("its repository is damaged: git cannot read it")
    return output


def _listed(output: bytes) -> list[tuple[Item, bytes]]:
    """Return the files of a commit and their hashes, less other repositories within it."""
    found: list[tuple[Item, bytes]] = []
    for line in output.split(b"\0"):
        entry = _LISTED.fullmatch(line)
        if entry is not None and entry["type"] == b"blob":
            kind = Kind.LINK if entry["mode"] == _LINK_MODE else Kind.FILE
            found.append((Item(os.fsdecode(entry["name"]), kind, len(found)), entry["hash"]))
    return found


def _contents(
    git: _Git, hashes: Mapping[PurePosixPath, bytes]
) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield files with their bytes, after git has said how many these are."""
    typed = b"".join(one + b"\n" for one in hashes.values())
    size, at = 0, 0
    headings = _output(git, ("cat-file", "--batch-check"), _HEADING * len(hashes), typed)
    for _ in hashes:
        heading = _heading(headings, at)
        at = heading.end()
        size += int(heading[1])
    if size > MOST_BYTES:
        raise Refused(f"its files have more than {MOST_BYTES:,} bytes")
    output = _output(git, ("cat-file", "--batch"), size + _HEADING * len(hashes), typed)
    at = 0
    for path in hashes:
        heading = _heading(output, at)
        at = heading.end() + int(heading[1])
        yield path, output[heading.end() : at]
        at += 1  # a line feed


def _heading(output: bytes, at: int) -> re.Match[bytes]:
    found = _SIZE.match(output, at)
    if found is None:
        raise Refused("its repository is not complete: it needs a full `git clone`")
    return found
