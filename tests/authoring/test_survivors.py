"""Declarations of mutants that nothing can reject.

The course's own declarations are in test_mutants.py, which makes the mutants of the course.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring import mutants, operators, survivors
from grader.model.errors import BrokenExercise

SOURCE = "def f(x, out):\n    a = x * 2\n    b = a\n    a = x * 2\n"
MADE = mutants.make(SOURCE, [operators.change_constant, operators.drop_operand])


def assigned(tmp_path: Path, text: str) -> list[tuple[int, str, str]]:
    path = tmp_path / "survivors.toml"
    path.write_text(text)
    found = survivors.assign(MADE, survivors.read(path), path)
    return [(mutant.line, mutant.after, found[mutant].kind) for mutant in MADE if mutant in found]


def test_a_missing_file_declares_nothing(tmp_path: Path):
    assert survivors.read(tmp_path / "survivors.toml") == ()


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ("", [2, 4]),
        ('before = "a = x * 2"', [2, 4]),
        ('before = "a = x * 2"\nafter = "a = x * 3"', [2, 4]),
        ('before = "a = x * 2"\nnth = 2', [4]),
    ],
)
def test_a_declaration_matches_the_mutants_that_it_names(
    tmp_path: Path, more: str, lines: list[int]
):
    text = f'[[slower]]\noperator = "change_constant"\nreason = "r"\n{more}\n'
    assert assigned(tmp_path, text) == [(line, "a = x * 3", "slower") for line in lines]


def test_the_changed_line_distinguishes_mutants_of_one_line(tmp_path: Path):
    text = '[[equivalent]]\noperator = "drop_operand"\nafter = "a = (x)"\nreason = "r"\nnth = 1\n'
    assert assigned(tmp_path, text) == [(2, "a = (x)", "equivalent")]


STALE = '[[slower]]\noperator = "change_constant"\nreason = "r"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[", "is not TOML"),
        ('[[same]]\noperator = "x"\nreason = "r"\n', "same is not a kind of survivor"),
        ('[[slower]]\noperator = "change_constant"\n', "a table .*slower.* holds"),
        ('[[slower]]\noperator = "change_constant"\nreason = ""\n', "a table .*slower.* holds"),
        (STALE + "line = 3\n", "a table .*slower.* holds"),
        (STALE + "nth = 0\n", "a table .*slower.* holds"),
        ("slower = [1]\n", "a table .*slower.* holds"),
        (STALE + "nth = 3\n", "fits no mutant"),
        (STALE + 'before = "a = x * 9"\n', "fits no mutant"),
        (STALE.replace("change_constant", "drop_mask"), "fits no mutant"),
        (STALE + STALE, "declared before"),
    ],
)
def test_a_declaration_that_fits_no_mutant_is_refused(tmp_path: Path, text: str, message: str):
    with pytest.raises(BrokenExercise, match=message):
        assigned(tmp_path, text)
