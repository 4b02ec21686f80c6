"""A student's feedback: all of the own results, and nothing of the machine's or of others."""

from __future__ import annotations

import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import class_runs
import pytest
import reported
from class_runs import ADA, BOB, row, run
from page_text import text
from syrupy.assertion import SnapshotAssertion

from grader import cli
from grader.classroom.policy.final import final
from grader.classroom.policy.records import Manual
from grader.classroom.policy.settings import GradingSettings, Late
from grader.classroom.policy.students_view import StudentsView, views, without_paths
from grader.model.times import utc
from grader.reports import feedback

COURSE = feedback.Course("A small course", "2026.1", "2026-11-21T10:00:00Z")
RULES = GradingSettings(utc("2026-11-20T12:00:00Z"), late=Late(Fraction(25)))
SMALL = Path(__file__).parents[1] / "courses" / "small"


def of_class(*manual: Manual) -> dict[str, StudentsView]:
    attempts = {one.id: one for one in (*ADA, *BOB)}
    rows = final(class_runs.a_class(), RULES, manual)
    return {one.row.student: one for one in views(rows, attempts)}


@pytest.mark.slow
def test_a_page_shows_grades_messages_deductions_and_comments(snapshot: SnapshotAssertion):
    lines = (
        Manual("bob", "02_row_sum", change=Fraction(1), comment="A fine idea."),
        Manual("bob", comment="Come and see me."),
    )
    for student in ("ada", "bob", "eve", "=cmd"):
        view = of_class(*lines)[student]
        assert text(feedback.page(view, COURSE)) == snapshot(name=f"{student}.html")
        assert feedback.markdown(view, COURSE) == snapshot(name=f"{student}.md")


def test_no_total_is_no_zero():
    (total,) = [feedback.total(view) for name, view in of_class().items() if name == "=cmd"]
    assert total.startswith("No total: 01_double was not graded")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("cannot open /srv/class/archives/bob.zip: damaged", "cannot open bob.zip: damaged"),
        ('File "/tmp/g-1x/kernel.py", line 3', 'File "kernel.py", line 3'),
        ("file:///home/prof/keys.pem is there", "keys.pem is there"),
        ("see ~/keys/private.pem", "see …"),
        ("in /data/results/", "in …"),
        (
            "exercises/01_double/kernel.py has 1/2 of it",
            "exercises/01_double/kernel.py has 1/2 of it",
        ),
        ("https://example.org/a/b", "https://example.org/a/b"),
        ("x / y / z and a//b", "x / y / z and a//b"),
    ],
)
def test_paths_of_the_machine_are_shortened(said: str, shown: str):
    assert without_paths(said) == shown


def test_nothing_of_others_and_nothing_of_the_machine_is_on_a_page():
    secret = "/srv/class-2026/hidden"
    leaky = reported.wrong(f"OSError: {secret}/tests.py", **class_runs.DOUBLE)
    leaky = leaky.model_copy(update={"output": "printed by the kernel"})
    one = class_runs.attempt("ada", 1, leaky)
    why = f"{secret}/ada.zip holds what Bobby Tables and bob2 handed in"
    mine = row(
        "ada",
        class_runs.cell_of(one),
        class_runs.cell("02_row_sum", standing="unreadable", why=why),
        name="Ada",
        notes=("bob2 handed in the same file",),
        group="g1",
        ids={"sis_id": "S1"},
    )
    other = row("bob2", name="Bobby Tables", group="g1")
    rows = final(run(mine, other, exercises=class_runs.EXERCISES[:2]), GradingSettings())
    view = next(views(rows, {one.id: one}))
    for page in (text(feedback.page(view, COURSE)), feedback.markdown(view, COURSE)):
        for hidden in ("srv", "hidden", "bob2", "Bobby", "printed by", "S1", "g1"):
            assert hidden not in page, hidden
        assert "tests.py" in page
    assert (view.row.notes, view.row.ids, view.results["01_double"].output) == ((), {}, "")


def test_others_are_named_in_no_message_and_no_login_changes_the_words_of_a_record():
    said = "RuntimeError: copied from bobby, thanks Bob Builder y.py"
    one = class_runs.attempt("ada", 1, reported.wrong(said, **class_runs.DOUBLE))
    others = [row("bobby", name="Bob Builder"), *map(row, ("grader", "fail", "correctness"))]
    mine = row("ada", class_runs.cell_of(one))
    rows = final(run(mine, *others, exercises=class_runs.EXERCISES[:1]), GradingSettings())
    view = next(views(rows, {one.id: one}))
    result = view.results["01_double"]
    step = next(step for step in result.steps if step.failure is not None)
    assert step.failure.message == "RuntimeError: copied from …, thanks … y.py"
    assert (result.schema_, result.status, step.name) == ("grader/result/v1", "fail", "correctness")
    for page in (text(feedback.page(view, COURSE)), feedback.markdown(view, COURSE)):
        assert not {"bobby", "Bob", "Builder"} & {*page.replace(",", " ").split()}


def test_an_attempt_of_somebody_else_is_never_shown():
    """An id in class.json that leads to another student's attempt."""
    rows = final(class_runs.a_class(), RULES)
    swapped = {ADA[0].id: BOB[1], ADA[1].id: ADA[1].model_copy(update={"student": "eve"})}
    assert next(views(rows, swapped)).results == {}


@pytest.mark.slow
def test_hostile_texts_are_text():
    bad = "<script>alert(1)</script> ](javascript:x) `a`"
    view = of_class(Manual("ada", "01_double", change=Fraction(1), comment=bad))["ada"]
    view = replace(view, row=replace(view.row, name=bad))
    assert "<script>" not in feedback.page(view, COURSE)
    assert "<script>" not in feedback.markdown(view, COURSE).replace("\\<", "")


@pytest.mark.slow
def test_the_command_writes_two_files_for_each_student(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setenv("GRADER_COURSE", str(shutil.copytree(SMALL, tmp_path / "small")))
    results = class_runs.results(tmp_path / "results", class_runs.a_class())
    out = tmp_path / "feedback"
    assert cli.main(["feedback", str(results), "--out", str(out)]) == 0
    names = sorted(path.name for path in out.iterdir())
    assert names == [
        f"{student}.{ending}"
        for student in ("_cmd-26b1f9b9e260", "ada", "bob", "eve")
        for ending in ("html", "md")
    ]
    assert "two files for each of 4 students" in capsys.readouterr().err


def test_a_folder_that_is_no_graded_class_is_named(tmp_path: Path, capsys):
    assert cli.main(["feedback", str(tmp_path), "--out", str(tmp_path / "x")]) == 2
    assert "is no graded class" in capsys.readouterr().err
