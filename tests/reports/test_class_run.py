"""The end of a class run in a terminal: what is worth a line, and what comes next."""

from __future__ import annotations

from pathlib import Path

import pytest
from class_runs import cell, row, run

from grader.reports import class_run

MANY = tuple(f"p{number:02}" for number in range(1, 50))


def test_many_exercises_that_nobody_started_are_counted_alone():
    cells = [cell(name, standing="not_started") for name in MANY]
    begun = [cell("p01", 5, status="pass"), *cells[1:]]
    text = class_run.summary(run(row("ada", *begun), row("bob", *cells), exercises=MANY), 100).plain
    assert text.splitlines()[1:] == [
        "p01            1            1",
        "left out: 48 exercises without graded work",
    ]


def test_a_few_exercises_have_a_line_each():
    cells = [cell(name, standing="not_started") for name in MANY[:3]]
    text = class_run.summary(run(row("ada", *cells), exercises=MANY[:3]), 100).plain
    assert [line.split()[0] for line in text.splitlines()] == ["exercise", *MANY[:3]]


@pytest.mark.parametrize(
    ("standing", "failed", "said"),
    [
        pytest.param("graded", False, "", id="all-graded"),
        pytest.param("not_graded", True, "it tries what could not be graded", id="a-fault"),
        pytest.param("not_graded", False, "it grades the others", id="not-chosen"),
    ],
)
def test_what_comes_next_fits_what_has_no_result(standing, failed: bool, said: str):
    made = run(row("ada", cell(standing=standing)), exercises=("01_double",))
    *first, last = class_run.next_steps(made, Path("out"), failed)
    assert bool(said) is bool(first)
    assert said in "".join(first)
    assert last == "next: grader export csv-wide out --out grades.csv"


def test_those_who_keep_their_earlier_points_are_named_with_what_to_do():
    """Their cells are as they were, so that nothing else shows that they were not graded again."""
    made = run(row("ada", cell(points=3, status="fail")), exercises=("01_double",))
    why = "01_double could not be graded again"
    *_, last = class_run.summary(made, 100, [("ada", why), ("bob", why)]).plain.splitlines()
    assert last == f"ada, bob: {why}"
    first, *_ = class_run.next_steps(made, Path("out"), failed=False, kept=True)
    assert "`grader regrade`" in first


def test_what_was_noted_of_a_submission_is_named_at_the_end():
    """A file that was changed after its commit was graded as not started, and no line said so."""
    note = "solutions/04 was changed after the commit: the commit counts"
    rows = [row(student, cell(), notes=(note,)) for student in ("ada", "bob")]
    assert f"ada, bob: {note}" in class_run.summary(run(*rows), 100).plain.splitlines()
