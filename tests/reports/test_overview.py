"""The instructor's pages: counts are those of the class, and every student has a page."""

from __future__ import annotations

import shutil
from pathlib import Path

import class_runs
import pytest
import reported
from class_runs import ADA, BOB, DOUBLE, EXERCISES, ROWS, row, run
from page_text import text
from syrupy.assertion import SnapshotAssertion

from grader import cli
from grader.classroom.policy.final import final
from grader.classroom.policy.overview import Overview, overview
from grader.classroom.policy.settings import GradingSettings
from grader.model.attempts import Attempt, attempt_json
from grader.reports import overview as pages

SMALL = Path(__file__).parents[1] / "courses" / "small"
COURSE = pages.Course("A small course", "2026-11-21T10:00:00Z")


def of_class() -> Overview:
    attempts = {one.id: one for one in (*ADA, *BOB)}
    return overview(final(class_runs.a_class(), GradingSettings()), attempts)


def of_kernels(*results: Attempt) -> Overview:
    rows = [row(one.student, class_runs.cell_of(one)) for one in results]
    made = final(run(*rows, exercises=(results[0].result.exercise,)), GradingSettings())
    return overview(made, {one.id: one for one in results})


def test_each_student_is_counted_once_at_each_exercise():
    whole = of_class()
    assert [sum(one.counts.values()) for one in whole.exercises] == [4, 4]
    double, rows = whole.exercises
    assert double.counts == {"passed": 1, "not_started": 1, "missing": 1, "not_graded": 1}
    assert rows.counts == {"correctness": 1, "passed": 1, "missing": 1, "unreadable": 1}
    assert whole.steps == ("correctness",)


def test_common_failures_are_counted_by_kind_and_the_most_common_comes_first():
    def failing(student: str, kind: str, number: int) -> Attempt:
        result = reported.wrong(f"{kind}!", **ROWS)
        step = result.steps[1]
        failure = step.failure.model_copy(update={"kind": kind, "cause": "missing_mask"})
        steps = (result.steps[0], step.model_copy(update={"failure": failure}))
        return class_runs.attempt(student, number, result.model_copy(update={"steps": steps}))

    some = [failing("a", "crash", 1), failing("b", "value", 2), failing("c", "value", 3)]
    first, second = of_kernels(*some).mistakes
    assert (first.kind, first.cause, first.students) == ("value", "missing_mask", ("b", "c"))
    assert (second.kind, second.students, second.message) == ("crash", ("a",), "crash!")


def test_shares_are_those_of_the_kernels_that_were_measured():
    (one,) = of_kernels(
        class_runs.attempt("a", 1, reported.timed(**DOUBLE)),
        class_runs.attempt("b", 2, reported.wrong("no", **DOUBLE)),
    ).exercises
    assert (one.shares, one.gates) == ((0.9138,), (0.8, 0.9))


def test_the_history_of_a_student_has_earlier_attempts_once():
    before = class_runs.attempt("ADA", 9, reported.wrong("no", **DOUBLE))
    changed = {"started_at": "2026-01-01T00:00:00Z"}
    before = before.model_copy(update={"result": before.result.model_copy(update=changed)})
    rows = final(class_runs.a_class(), GradingSettings())
    found = overview(rows, {one.id: one for one in ADA}, [before, ADA[0], BOB[0]]).history
    assert [one.id for one in found["ada"]] == [before.id, ADA[0].id, ADA[1].id]
    assert (found["bob"], found["eve"]) == ((), ()), "a file that was not begun is no attempt"


def test_the_pages_show_all_of_it(snapshot: SnapshotAssertion):
    whole = of_class()
    links = {one.student: f"students/{n}.html" for n, one in enumerate(whole.rows)}
    assert text(pages.index(whole, COURSE, links)) == snapshot(name="index")
    for one in whole.rows:
        assert text(pages.student(whole, one, COURSE)) == snapshot(name=one.student)


def test_a_class_without_a_gpu_is_told_why_there_are_no_shares():
    whole = of_kernels(class_runs.attempt("a", 1, reported.wrong("no", **DOUBLE)))
    page = pages.index(whole, COURSE, {"a": "x.html"})
    assert "No speed was measured" in page
    assert "<svg" not in page


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADER_COURSE", str(shutil.copytree(SMALL, tmp_path / "small")))
    monkeypatch.chdir(tmp_path)
    return class_runs.results(tmp_path / "results", class_runs.a_class())


def test_the_command_writes_a_page_for_the_class_and_for_each_student(results: Path):
    before = class_runs.attempt("ada", 9, reported.wrong("an old mistake", **DOUBLE))
    Path("old.jsonl").write_text(attempt_json(before) + "\n")
    assert cli.main(["overview", str(results), "--out", "pages", "--earlier", "old.jsonl"]) == 0
    assert len(list(Path("pages/students").iterdir())) == 4
    assert "an old mistake" in Path("pages/students/ada.html").read_text()
    assert "an old mistake" not in Path("pages/students/bob.html").read_text()


def test_a_section_is_shown_alone(results: Path, capsys):
    assert cli.main(["overview", str(results), "--out", "pages", "--section", "B"]) == 0
    assert [one.name for one in Path("pages/students").iterdir()] == ["bob.html"]
    assert "Ada" not in Path("pages/index.html").read_text()
    assert cli.main(["overview", str(results), "--out", "pages", "--section", "C"]) == 2
    assert "Its sections are A, B." in capsys.readouterr().err


def test_exercises_are_those_of_the_run():
    assert [one.exercise for one in of_class().exercises] == list(EXERCISES[:2])
