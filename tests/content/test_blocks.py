"""A block is threads in numba and a vector of elements in Triton: each page has one of the two.

The first sentence of a lesson that has the word says which.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.course import catalog
from grader.course.exercise import Exercise

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MEANS = {
    "numba": re.compile(r"\bthreads?\b"),
    "triton": re.compile(r"\b(lanes?|elements?|columns?|vector)\b"),
}
# The other meaning, in words in which it would stand.
FOREIGN = {
    "numba": re.compile(r"\bblocks? of (\d+ |BLOCK )?(lanes|elements|columns)\b"),
    "triton": re.compile(r"\b(blocks? of (\d+ )?threads|threads of (a|the|its) block)\b"),
}

each = pytest.mark.parametrize("exercise", catalog.parts(ROOT), ids=lambda e: e.name)


def sentences(page: str) -> list[str]:
    """Split the prose of a page, without code examples and tables."""
    text = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(    |\||#).*$", "", text, flags=re.MULTILINE)
    return re.split(r"(?<=[.:?!])\s+(?=[A-Z*`])|\n\n", text)


def about_blocks(exercise: Exercise) -> list[str]:
    page = (exercise.folder / "README.md").read_text(encoding="utf-8")
    return [
        s for s in sentences(page) if re.search(r"(?<!`)\bblocks?\b(?![_\w(])", s, re.IGNORECASE)
    ]


def test_the_sentences_are_found():
    assert sum(bool(about_blocks(exercise)) for exercise in catalog.exercises(ROOT)) > 25
    page = (
        "# A block\n\nA block has 4 lanes. No more.\n\n```python\nblock = 1\n```\n| block | 1 |\n"
    )
    assert [s for s in sentences(page) if "block" in s] == ["A block has 4 lanes."]


@each
def test_the_first_sentence_about_a_block_says_which(exercise: Exercise):
    for first in about_blocks(exercise)[:1]:
        assert MEANS[exercise.spec.backend].search(first), " ".join(first.split())


@each
def test_no_lesson_uses_the_other_meaning(exercise: Exercise):
    assert not [s for s in about_blocks(exercise) if FOREIGN[exercise.spec.backend].search(s)]


@each
def test_no_hint_uses_the_other_meaning(exercise: Exercise):
    assert not [hint for hint in exercise.spec.hints if FOREIGN[exercise.spec.backend].search(hint)]
