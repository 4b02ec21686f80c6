"""The proof that a release gives no solution away.

Secrets: a solution's code lines are those between its markers, without comments and blank lines. A
line, or a pair of neighbours, is a passage if it holds three or more names and numbers; keywords do
not count. `else:`, `half //= 2` and `cuda.syncthreads()` alone reveal nothing, but two such lines
together do. A solution without markers, such as fast.py, has only pairs, which hold no import: one
line of it may be a line that every such kernel needs. A line is public if the course shows it to
students on purpose: in a released stub, or quoted as exactly this line between backticks in the
lesson or a hint of a released exercise. A pair is public only if a stub shows it. In the files of
the installed grader, which anybody may read, only pairs count.

Search: every file of the release, every member of its zip files (a wheel is one), and every object
of its git history. White space, marks around a line (comments, quotes, list items) and comments
between lines are ignored. A secret passage anywhere is a leak. So is a copy of a file under
solutions/, and the SHA-256 of one, which would confirm a guess.

Limits: the proof does not recognise a solution with changed names, rearranged lines or other
words, nor an encoded one (base64, an image, an archive other than zip).
"""

from __future__ import annotations

import io
import keyword
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import grader
from grader import backends
from grader.course import Exercise, digest, stubs, text_of, without_comments
from grader.grading import kind_of
from grader.model import BrokenExercise

FEWEST = 3  # names and numbers of a passage
MOST_NAMED = 10  # leaks that a message names

# Characters before a line that is quoted in a comment, a list, a table or a diff.
_MARKS = " \t#>*|+-"
_WORD = re.compile(r"\w")
_IMPORT = re.compile(r"(?:import|from|#include)\b")


@dataclass(frozen=True)
class Passage:
    """One code line of a solution, or two neighbours."""

    source: str  # path of the solution, from the course
    line: int
    text: str  # as in the file
    words: str  # the form to search for, see _words
    alone: bool  # one line, without a neighbour


@dataclass(frozen=True)
class Secrets:
    """The passages and files that a release must not contain."""

    passages: tuple[Passage, ...]
    files: dict[str, str]  # by SHA-256: every file under solutions/
    solutions: int  # the number of solutions that the passages come from


@dataclass(frozen=True)
class Leak:
    """A secret, and the file or object that holds it."""

    what: str
    where: str


def secrets(root: Path, released: Sequence[Exercise]) -> Secrets:
    """Collect the secrets of a course that releases these exercises.

    All solutions of the course count, including those of later exercises. Raises BrokenExercise for
    a solution without markers, and for a spec that does not load.
    """
    stubs_of = (_stub(one) for exercise in released for one in exercise.in_all_backends)
    shown = [form for stub in stubs_of for form in _forms(stub)]
    quotes = {quote for exercise in released for quote in _quotes(exercise)}
    marked = {"kernel.py", *(f"kernel_{name}.py" for name in backends.names())}
    answers = sorted((root / "solutions").glob("*/*.py"))
    sources = [path for path in answers if not path.name.startswith("wrong_")]
    passages = []
    for path in sources:
        for passage in _passages(path, root, path.name in marked):
            if not (passage.words in quotes or any(passage.words in form for form in shown)):
                passages.append(passage)
    files = [path for path in sorted((root / "solutions").rglob("*")) if path.is_file()]
    hidden = {digest(path.read_bytes()): path.relative_to(root).as_posix() for path in files}
    hidden.pop(digest(b""), None)  # an empty file gives nothing away
    return Secrets(tuple(passages), hidden, len(sources))


def _stub(exercise: Exercise) -> str:
    return stubs.stub_of(exercise, kind_of(exercise.any_spec).stub)


def leaks(contents: Iterable[tuple[str, bytes]], secret: Secrets) -> list[Leak]:
    return [
        leak
        for name, content in contents
        for inner, part in _unpacked(name, content)
        for leak in _leaks(inner, part, secret)
    ]


def require_none(leaked: Sequence[Leak]) -> None:
    """Raise BrokenExercise that names the leaks, if there are any."""
    if not leaked:
        return
    named = [f"{leak.where} holds {leak.what}" for leak in leaked[:MOST_NAMED]]
    if len(leaked) > MOST_NAMED:
        named.append(f"and {len(leaked) - MOST_NAMED} more")
    raise BrokenExercise(
        "Nothing was released, because it would give a solution away:\n       "
        + "\n       ".join(named),
        "Remove it there. To let students know a line, put it outside of the solution's markers, "
        "or quote it between backticks in the lesson or in a hint.",
    )


def _leaks(name: str, content: bytes, secret: Secrets) -> Iterator[Leak]:
    if path := secret.files.get(digest(content)):
        yield Leak(f"the file {path}", name)
    # Without its zeros, text in UTF-16 or UTF-32 is text in ASCII.
    text = content.replace(b"\0", b"").decode("utf-8", "replace")
    for value in set(re.findall(r"\b[0-9a-f]{64}\b", text.lower())) & secret.files.keys():
        yield Leak(f"the SHA-256 of {secret.files[value]}", name)
    forms = _forms(text)
    ours = digest(content) in _of_the_grader()
    for passage in secret.passages:
        if ours and passage.alone:
            continue
        if any(passage.words in form for form in forms):
            yield Leak(f"line {passage.line} of {passage.source}, `{passage.text}`", name)


@cache
def _of_the_grader() -> frozenset[str]:
    """Return the SHA-256 of each file of the installed grader."""
    files = Path(grader.__file__).parent.rglob("*.py")
    return frozenset(digest(file.read_bytes()) for file in files)


def _unpacked(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the content, and the members of a zip file, too. Raises BrokenExercise."""
    yield name, content
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield f"{name} (its comment)", archive.comment
            for member in archive.infolist():
                yield from _unpacked(f"{name}/{member.filename}", archive.read(member))
    except BrokenExercise:
        raise
    except Exception as error:  # zipfile raises almost anything for a damaged archive
        why = str(error) or type(error).__name__
        raise BrokenExercise(
            f"{name} is a zip file that cannot be searched: {why}.", "Leave it out."
        ) from None


def _passages(path: Path, root: Path, marked: bool) -> tuple[Passage, ...]:
    return _passages_in(text_of(path), path, path.relative_to(root).as_posix(), marked)


@cache  # each release of a course, whatever it holds, has the same solutions
def _passages_in(source: str, path: Path, place: str, marked: bool) -> tuple[Passage, ...]:
    """Return the lines and pairs of a solution that reveal something.

    Those of a `marked` one lie in its regions. Raises BrokenExercise where markers are missing or
    wrong, and for a file that is no Python.
    """
    if marked:
        stubs.make_stub(source, path.parent.name, str(path))
    regions = list(stubs.regions(source, str(path)))
    code = [line.strip() for line in without_comments(source)]
    if not marked:
        numbers = [n for n, line in enumerate(code, 1) if line and not _IMPORT.match(line)]
        # Beside a line of signs alone, such as the end of a docstring, the other line is alone.
        pairs = (pair for pair in pairwise(numbers) if all(_WORD.search(code[n - 1]) for n in pair))
        return tuple(_revealing(code, pairs, place))
    found: list[Passage] = []
    for region in regions:
        numbers = [n for n in range(region.first + 1, region.last) if code[n - 1]]
        found += _revealing(code, ((number,) for number in numbers), place)
        found += _revealing(code, pairwise(numbers), place)
    return tuple(found)


def _revealing(
    code: Sequence[str], groups: Iterable[tuple[int, ...]], place: str
) -> Iterator[Passage]:
    for numbers in groups:
        lines = [code[number - 1] for number in numbers]
        if _is_revealing(" ".join(lines)):
            words = _words("\n".join(map(_bare, lines)))
            yield Passage(place, numbers[0], " / ".join(lines), words, len(numbers) == 1)


def _is_revealing(code: str) -> bool:
    words = [word for word in re.findall(r"\w+", code) if not keyword.iskeyword(word)]
    return len(words) >= FEWEST


def _quotes(exercise: Exercise) -> Iterator[str]:
    lesson = exercise.folder / "README.md"
    lessons = [text_of(lesson)] if lesson.is_file() else []
    for text in [*lessons, *exercise.any_spec.hints]:
        # Between single backticks: blocks of code are not quotes.
        for quote in re.findall(r"(?<!`)`([^`]+)`(?!`)", text):
            yield _words(_bare(quote))


def _forms(text: str) -> list[str]:
    """Return the words of a text as it is, without marks and trailing comments, and without any."""
    lines = text.splitlines()
    code = [line for line in lines if not line.lstrip().startswith("#")]
    return [_words(text), *(_words("\n".join(map(_bare, some))) for some in (lines, code))]


def _bare(line: str) -> str:
    # Without the marks at its beginning and the comment at its end.
    return re.sub(r"\s#.*", "", line.lstrip(_MARKS))


def _words(text: str) -> str:
    r"""Return names, numbers and signs, each between blanks, without quotes, colons, `\` and `\n`.

    Code in a string, or a block's header without its colon, has the same words as the code itself.
    """
    words = re.findall(r"\w+|[^\w\s:\"'\\]", re.sub(r"\\[nrt]", " ", text))
    return f" {' '.join(words)} "
