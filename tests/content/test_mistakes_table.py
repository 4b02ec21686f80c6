"""The table of beginners' mistakes: complete, in the words of causes.toml, and split by a hash."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import mistakes_table
import pytest
from mistakes_table import HELD_OUT, SEEN

from grader.course import catalog
from grader.sandbox.failures import CAUSES

ROOT = Path(__file__).parents[2]
ROWS = mistakes_table.rows()


def test_each_kernel_has_one_row_and_each_row_a_kernel() -> None:
    own = {path for part in (SEEN, HELD_OUT) for path in part.glob("*/*.py")}
    wrong = set((ROOT / "solutions").glob("*/wrong_*.py"))
    assert Counter(row.kernel for row in ROWS) == Counter(own | wrong)


def test_a_hash_of_its_path_decides_whether_a_row_is_held_out() -> None:
    misplaced = [
        row.kernel
        for row in ROWS
        if row.held_out != mistakes_table.is_held_out(row.exercise, row.kernel.name)
    ]
    assert not misplaced
    assert 0.3 < sum(row.held_out for row in ROWS) / len(ROWS) < 0.37


@pytest.mark.parametrize("part", [SEEN, HELD_OUT], ids=lambda part: part.name)
def test_a_kernel_lies_in_the_part_of_its_row(part: Path) -> None:
    beside = {row.kernel for row in ROWS if row.held_out == (part == HELD_OUT)}
    assert set(part.glob("*/*.py")) <= beside


def test_causes_are_words_of_the_vocabulary_and_each_word_has_a_row() -> None:
    named = {cause for row in ROWS for cause in row.causes}
    assert named == set(mistakes_table.vocabulary())
    assert {cause for row in ROWS for cause in row.also} <= named


def words_of_the_grader() -> set[str]:
    """Return what detectors are called, the causes of faults, and what their files quote."""
    room = ROOT / "grader" / "correctness"
    files = [*room.rglob("*.py"), *(ROOT / "grader" / "backends").glob("*/hints.py")]
    files += [exercise.folder / "spec.py" for exercise in catalog.exercises(ROOT)]
    files += (ROOT / "grader" / "grading").rglob("*.py")  # steps that state a cause
    quoted = re.compile(r'"([a-z0-9_]+)"')
    texts = [file.read_text(encoding="utf-8") for file in files]
    detectors = {file.stem for file in room.glob("causes/*.py")}
    return detectors.union(CAUSES.values(), *map(quoted.findall, texts))


def test_the_grader_detects_each_cause_or_it_is_listed_as_one_without_a_detector() -> None:
    listed = (SEEN / "no_detector_yet.txt").read_text(encoding="utf-8").split()
    assert listed == sorted(set(mistakes_table.vocabulary()) - words_of_the_grader())


def test_each_row_says_what_a_report_should_say() -> None:
    lacking = [
        row.kernel
        for row in ROWS
        if not (row.mistake.endswith((".", "?")) and row.lines and row.causes)
        or row.causes & row.also
    ]
    assert not lacking


def test_a_text_that_is_no_line_is_refused() -> None:
    assert mistakes_table.numbers_of(["x = 1"], "y = 2\n    x = 1\nx = 1") == {2, 3}
    with pytest.raises(ValueError, match="no such line: x = 2"):
        mistakes_table.numbers_of(["x = 1", "x = 2"], "x = 1")


def test_no_two_kernels_are_the_same() -> None:
    texts = Counter(row.kernel.read_text(encoding="utf-8") for row in ROWS)
    assert max(texts.values()) == 1
