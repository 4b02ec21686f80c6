"""Docstrings begin with a verb or a noun, and never with a question's word.

ruff's D401 knows most verbs, but not these words.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GRADER = ROOT / "grader"

QUESTIONS = {"what", "which", "who", "whose", "whom", "how", "whether", "where", "when", "why"}
FORBIDDEN = QUESTIONS | {"of", "that", "such"}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def bad_openings(path: Path) -> Iterator[str]:
    """Yield the place and the first word of each docstring that begins with a forbidden one."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, DOCUMENTED) or not (text := ast.get_docstring(node)):
            continue
        word = text.split()[0].strip(".,:;?")
        if word.lower() in FORBIDDEN:
            yield f"{path}:{node.body[0].lineno}: {word}"


@pytest.mark.slow
def test_no_docstring_begins_with_a_question():
    found = [line for path in sorted(GRADER.rglob("*.py")) for line in bad_openings(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("word", ["What", "of", "Whether:"])
def test_a_docstring_that_begins_with_a_question_is_named(tmp_path: Path, word: str):
    path = tmp_path / "module.py"
    path.write_text(f'"""Sums."""\n\ndef double(x):\n    """{word} x is."""\n')
    assert list(bad_openings(path)) == [f"{path}:4: {word.strip(':')}"]
