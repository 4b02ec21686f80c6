"""The proof that a release gives no solution away.

What is secret. A solution's code lines are those between its markers; comments and blank lines
aside. Each line, and each pair of neighbours, is a passage if it holds three or more names and
numbers (keywords are none): `else:`, `half //= 2` and `cuda.syncthreads()` alone tell nothing,
while two such lines together do. A line is public, and no secret, if the course shows it to
students on purpose: it stands in a released stub, or the lesson or a hint of a released exercise
quotes exactly this line between backticks. A pair is public only if a stub shows it.

What is searched. Every file of the release with every member of its zip files (a wheel is one), and
every object of its git history. White space does not count, neither do marks before and behind a
line (comments, quotes, list items), nor comments between the lines. A secret passage that stands
anywhere is a leak. So is a file that is, byte for byte, one of those under solutions/, and
the SHA-256 of one: it would confirm a guess.

What it cannot see: a solution whose names were changed or whose lines were rearranged, one in other
words, and what is encoded (base64, an image, an archive other than zip).
"""

from __future__ import annotations

import io
import keyword
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from grader.course import Exercise, digest, stubs, text_of, without_comments
from grader.grading import kind_of
from grader.model import BrokenExercise

FEWEST = 3  # names and numbers that a passage holds
TOLD = 10  # leaks that a message names

# What a line begins with when it is quoted in a comment, a list, a table or a difference.
_MARKS = " \t#>*|+-"


@dataclass(frozen=True)
class Passage:
    """One code line of a solution, or two neighbours."""

    source: str  # path of the solution, from the course
    line: int
    text: str  # as it stands there
    words: str  # as it is searched for, see _words


@dataclass(frozen=True)
class Secrets:
    """What must stand nowhere in a release."""

    passages: tuple[Passage, ...]
    files: dict[str, str]  # by SHA-256: every file under solutions/
    solutions: int  # how many solutions the passages come from


@dataclass(frozen=True)
class Leak:
    """Where something secret stands: a line of a file or of an object."""

    what: str
    where: str


def secrets(root: Path, released: Sequence[Exercise]) -> Secrets:
    """The secrets of a course of which these exercises are released.

    All solutions of the course count, also those of exercises that come later. Raises
    BrokenExercise for a solution without markers, and for a spec that does not load.
    """
    shown = [form for exercise in released for form in _forms(_stub(exercise))]
    quotes = {quote for exercise in released for quote in _quotes(exercise)}
    sources = sorted((root / "solutions").glob("*/kernel.py"))
    passages = []
    for path in sources:
        for passage in _passages(path, root):
            if not (passage.words in quotes or any(passage.words in form for form in shown)):
                passages.append(passage)
    files = [path for path in sorted((root / "solutions").rglob("*")) if path.is_file()]
    hidden = {digest(path.read_bytes()): path.relative_to(root).as_posix() for path in files}
    hidden.pop(digest(b""), None)  # an empty file gives nothing away
    return Secrets(tuple(passages), hidden, len(sources))


def _stub(exercise: Exercise) -> str:
    return stubs.stub_of(exercise, kind_of(exercise.any_spec).stub)


def leaks(contents: Iterable[tuple[str, bytes]], secret: Secrets) -> list[Leak]:
    """Where the contents, each given with its name, hold something secret."""
    return [
        leak
        for name, content in contents
        for inner, part in _unpacked(name, content)
        for leak in _leaks(inner, part, secret)
    ]


def require_none(found: Sequence[Leak]) -> None:
    """Raises BrokenExercise, naming what stands where."""
    if not found:
        return
    told = [f"{leak.where} holds {leak.what}" for leak in found[:TOLD]]
    if len(found) > TOLD:
        told.append(f"and {len(found) - TOLD} more")
    raise BrokenExercise(
        "Nothing was released, because it would give a solution away:\n       "
        + "\n       ".join(told),
        "Take it out there. A line that students may know can stand outside of the solution's "
        "markers, or be quoted between backticks in the lesson or in a hint.",
    )


def _leaks(name: str, content: bytes, secret: Secrets) -> Iterator[Leak]:
    if path := secret.files.get(digest(content)):
        yield Leak(f"the file {path}", name)
    # Without its zeros, text in UTF-16 or UTF-32 is text in ASCII.
    text = content.replace(b"\0", b"").decode("utf-8", "replace")
    for value in set(re.findall(r"\b[0-9a-f]{64}\b", text.lower())) & secret.files.keys():
        yield Leak(f"the SHA-256 of {secret.files[value]}", name)
    forms = _forms(text)
    for passage in secret.passages:
        if any(passage.words in form for form in forms):
            yield Leak(f"line {passage.line} of {passage.source}, `{passage.text}`", name)


def _unpacked(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """The content, and where it is a zip file its members, too. Raises BrokenExercise."""
    yield name, content
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield f"{name} (its comment)", archive.comment
            for member in archive.infolist():
                yield from _unpacked(f"{name}/{member.filename}", archive.read(member))
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError) as error:
        raise BrokenExercise(
            f"{name} is a zip file that cannot be looked into: {error}.", "Leave it out."
        ) from None


def _passages(path: Path, root: Path) -> Iterator[Passage]:
    """The telling lines and pairs of a solution's marked regions. Raises BrokenExercise."""
    place = path.relative_to(root).as_posix()
    source = text_of(path)
    stubs.make_stub(
        source, path.parent.name, str(path)
    )  # raises where markers are missing or wrong
    code = without_comments(source)
    for region in stubs.regions(source, str(path)):
        numbers = [n for n in range(region.first + 1, region.last) if code[n - 1].strip()]
        for group in ([[n] for n in numbers], [list(pair) for pair in pairwise(numbers)]):
            for lines in group:
                parts = [code[number - 1].strip() for number in lines]
                if _telling(" ".join(parts)):
                    words = _words("\n".join(_bare(part) for part in parts))
                    yield Passage(place, lines[0], " / ".join(parts), words)


def _telling(code: str) -> bool:
    words = [word for word in re.findall(r"\w+", code) if not keyword.iskeyword(word)]
    return len(words) >= FEWEST


def _quotes(exercise: Exercise) -> Iterator[str]:
    """What lesson and hints quote between single backticks; blocks of code are not quotes."""
    lesson = exercise.folder / "README.md"
    said = [text_of(lesson)] if lesson.is_file() else []
    for text in [*said, *exercise.any_spec.hints]:
        for quote in re.findall(r"(?<!`)`([^`]+)`(?!`)", text):
            yield _words(_bare(quote))


def _forms(text: str) -> list[str]:
    """The words of a text: as it is, without marks and trailing comments, and without comments."""
    lines = text.splitlines()
    code = [line for line in lines if not line.lstrip().startswith("#")]
    return [_words(text), *(_words("\n".join(map(_bare, some))) for some in (lines, code))]


def _bare(line: str) -> str:
    """A line without the marks that it begins with, and without a comment behind it."""
    return re.sub(r"\s#.*", "", line.lstrip(_MARKS))


def _words(text: str) -> str:
    """Names, numbers and signs, each between two blanks; quotes, colons, `\\` and `\\n` left out.

    What a string holds, or a header of a block without its colon, reads as the code itself does.
    """
    found = re.findall(r"\w+|[^\w\s:\"'\\]", re.sub(r"\\[nrt]", " ", text))
    return f" {' '.join(found)} "
