"""From a course to its model solutions, with commentary, evidence and the mistakes around each."""

from __future__ import annotations

import ast
import difflib
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.classroom.publish import evidence
from grader.classroom.publish.evidence import Evidence
from grader.course import Exercise, regions, rejected_at, without_comments
from grader.grading import LARGEST_FILE, has_step
from grader.model import BrokenExercise, GraderError, Result, Spec, texts

MOST_DIFF_LINES = 60


@dataclass(frozen=True)
class Mistake:
    """A wrong kernel of an exercise.

    `told` is what it gets wrong; `luck`, such as `may pass by luck, because …`, what a GPU may not
    show of it. Both may be empty. `step` is the
    one that rejects it, None where the file does not say. `diff` holds lines that begin with `-`
    (only in the solution), `+` (only here) or a space, without comments, and an empty line
    where something is left out; `cut` is how many of its lines are left out at the end.
    """

    name: str
    source: str
    told: str
    luck: str
    step: str | None
    diff: tuple[str, ...]
    cut: int


@dataclass(frozen=True)
class Model:
    """One model solution and all that is published of it.

    `commentary` is Markdown, the author's own, or made from the docstring when `own` is false.
    `asked` holds the lines, counted from 1, that the exercise leaves to the learner.
    """

    name: str
    shelf: str
    spec: Spec
    source: str
    sha256: str
    commentary: str
    own: bool
    asked: frozenset[int]
    mistakes: tuple[Mistake, ...]
    evidence: Evidence


def collect(
    exercises: Sequence[Exercise], results: Sequence[Result]
) -> tuple[list[Model], list[str]]:
    """The solutions that can be published, and what cannot and why; neither stops the other."""
    models: list[Model] = []
    problems: list[str] = []
    for exercise in exercises:
        try:
            model, left_out = _model(exercise, results)
        except GraderError as error:
            problems.append(f"{exercise.name} is left out: {error.message}")
        else:
            models.append(model)
            problems += left_out
    return models, problems


def _model(exercise: Exercise, results: Sequence[Result]) -> tuple[Model, list[str]]:
    _require_name(exercise.folder)
    spec = exercise.spec
    source = text_of(exercise.solution)
    problems: list[str] = []
    mistakes = []
    for path in exercise.wrong_kernels:
        try:
            mistakes.append(_mistake(path, source))
        except BrokenExercise as error:
            problems.append(f"{exercise.name}: {error.message}")
    own = ""
    try:
        own = commentary_of(exercise)
    except BrokenExercise as error:
        problems.append(f"{exercise.name}: {error.message}")
    sha256 = digest(source)
    model = Model(
        name=exercise.name,
        shelf=exercise.shelf,
        spec=spec,
        source=source,
        sha256=sha256,
        commentary=own or _as_markdown(_docstring(source)),
        own=bool(own),
        asked=_asked(source),
        mistakes=tuple(mistakes),
        evidence=evidence.of(exercise.name, sha256, has_step(spec, "speed"), results),
    )
    return model, problems


def digest(text: str) -> str:
    """SHA-256 of the text as it lies in a file, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def text_of(path: Path) -> str:
    """The text of a file, line ends as they are. Raises BrokenExercise."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise BrokenExercise(f"{path} cannot be read: {error.strerror}.") from None
    if len(content) > LARGEST_FILE:
        raise BrokenExercise(f"{path} has more than {LARGEST_FILE:,} bytes.")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise BrokenExercise(f"{path} is not written in UTF-8.") from None


def commentary_of(exercise: Exercise) -> str:
    """The author's words on the solution, Markdown; empty where there are none.

    Raises BrokenExercise when the file cannot be used.
    """
    path = exercise.commentary
    return text_of(path).strip() if path.exists() else ""


def _docstring(source: str) -> str:
    """That of a module; empty where it has none, or is no Python."""
    try:
        return ast.get_docstring(ast.parse(source)) or ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _as_markdown(docstring: str) -> str:
    """A docstring's plain text as Markdown that shows it as it is.

    Indented parts are code in both. In what else there is, only `code` between backticks counts.
    """
    blocks = []
    for block in re.split(r"\n\s*\n", docstring):
        if all(line.startswith("    ") for line in block.splitlines()):
            blocks.append(block)
        else:
            blocks.append(texts.markdown(block, code=True))
    return "\n\n".join(blocks)


def _asked(source: str) -> frozenset[int]:
    """The lines inside of the markers; none where they are missing or not in order."""
    try:
        return frozenset(
            line
            for region in regions(source, "kernel.py")
            for line in range(region.first, region.last + 1)
        )
    except BrokenExercise:
        return frozenset()


def _require_name(path: Path) -> None:
    """Raises BrokenExercise for a name that no page can show, such as one with a line break."""
    if not path.name.isprintable():
        raise BrokenExercise(f"{path.name!r} is no name of a file that can be published.")


def _mistake(path: Path, solution: str) -> Mistake:
    _require_name(path)
    source = text_of(path)
    docstring = _docstring(source)
    paragraphs = re.split(r"\n\s*\n|\n(?=Rejected at:|On a GPU:)", docstring)
    luck = re.search(r"^On a GPU: (may pass by luck.*(?:\n.+)*)", docstring, re.MULTILINE)
    own = not re.match(r"Rejected at:|On a GPU:", paragraphs[0])
    diff = list(_diff(solution, source))
    return Mistake(
        name=path.name,
        source=source,
        told=" ".join(paragraphs[0].split()) if own else "",
        luck=" ".join(luck[1].split()) if luck else "",
        step=_step(path),
        diff=tuple(diff[:MOST_DIFF_LINES]),
        cut=max(0, len(diff) - MOST_DIFF_LINES),
    )


def _step(path: Path) -> str | None:
    try:
        return rejected_at(path)
    except BrokenExercise:
        return None


def _diff(solution: str, wrong: str) -> Iterator[str]:
    """What differs in the code of two files, with a line around it."""
    compared = difflib.unified_diff(_code(solution), _code(wrong), n=1, lineterm="")
    for number, line in enumerate(compared):
        if number < 2:
            continue  # the names of the files
        if not line.startswith("@@"):
            yield line
        elif number > 2:
            yield ""


def _code(source: str) -> list[str]:
    """The lines of a file without comments, docstrings and empty lines."""
    try:
        tree, lines = ast.parse(source), without_comments(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source.split("\n")
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            for row in range(body[0].lineno, body[0].end_lineno + 1):
                lines[row - 1] = ""
    return [line for line in lines if line.strip()]


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
