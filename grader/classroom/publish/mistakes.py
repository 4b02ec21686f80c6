"""The wrong kernels of an exercise, each with its author's words and its differing lines."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.classroom.publish.sources import docstring, require_name, text_of
from grader.course import rejected_at, without_comments
from grader.grading import has_step
from grader.model import BaseSpec, BrokenExercise

MOST_DIFF_LINES = 60


@dataclass(frozen=True)
class Mistake:
    """A wrong kernel of an exercise.

    `description` names the mistake. `luck`, such as `may pass by luck, because …`, says why a GPU
    may not show it. Both may be empty. `step` rejects it; it is None where the file names no step
    of its exercise. `diff` holds lines that begin with `-` (only in the solution), `+` (only here)
    or a space. Comments are left out, and an empty line marks a gap. `cut` counts the lines that
    are left out at the end.
    """

    name: str
    source: str
    description: str
    luck: str
    step: str | None
    diff: tuple[str, ...]
    cut: int


def mistake(path: Path, solution: str, spec: BaseSpec) -> Mistake:
    require_name(path)
    source = text_of(path)
    words = docstring(source)
    paragraphs = re.split(r"\n\s*\n|\n(?=Rejected at:|On a GPU:)", words)
    luck = re.search(r"^On a GPU: (may pass by luck.*(?:\n.+)*)", words, re.MULTILINE)
    own = not re.match(r"Rejected at:|On a GPU:", paragraphs[0])
    diff = list(_diff(solution, source))
    return Mistake(
        name=path.name,
        source=source,
        description=" ".join(paragraphs[0].split()) if own else "",
        luck=" ".join(luck[1].split()) if luck else "",
        step=_step(path, spec),
        diff=tuple(diff[:MOST_DIFF_LINES]),
        cut=max(0, len(diff) - MOST_DIFF_LINES),
    )


def _step(path: Path, spec: BaseSpec) -> str | None:
    try:
        name = rejected_at(path)
    except BrokenExercise:
        return None
    return name if has_step(spec, name) else None


def _diff(solution: str, wrong: str) -> Iterator[str]:
    compared = difflib.unified_diff(_code(solution), _code(wrong), n=1, lineterm="")
    for number, line in enumerate(compared):
        if number < 2:
            continue  # the names of the files
        if not line.startswith("@@"):
            yield line
        elif number > 2:
            yield ""


def _code(source: str) -> list[str]:
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
