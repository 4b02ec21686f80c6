"""Reader of the course files to publish: UTF-8 text, with a name that a page can show."""

from __future__ import annotations

import ast
import hashlib
import re
from pathlib import Path

from grader.grading import LARGEST_FILE
from grader.model import BrokenExercise, texts


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def text_of(path: Path) -> str:
    """Read a file and leave its line ends as they are. Raises BrokenExercise."""
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


def docstring(source: str) -> str:
    try:
        return ast.get_docstring(ast.parse(source)) or ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def as_markdown(docstring: str) -> str:
    """Turn a docstring's plain text into Markdown that looks the same.

    Indented parts are code in both. Elsewhere only `code` between backticks has a meaning.
    """
    blocks = []
    for block in re.split(r"\n\s*\n", docstring):
        if all(line.startswith("    ") for line in block.splitlines()):
            blocks.append(block)
        else:
            blocks.append(texts.markdown(block, code=True))
    return "\n\n".join(blocks)


def require_name(path: Path) -> None:
    """Raise BrokenExercise for a name that no page can show, such as one with a line break."""
    if not path.name.isprintable():
        raise BrokenExercise(f"{path.name!r} is not the name of a file that can be published.")
