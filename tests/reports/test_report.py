"""A learner's pages: all that a result has is there, and what it lacks is named with its reason."""

from __future__ import annotations

import pytest
from learners_results import COMPILED, MEMORY, WRONG, complete
from page_text import text
from publications import H200
from reported import PASSED, noisy, not_started, of, timed, wrong
from syrupy.assertion import SnapshotAssertion
from traces import missing_guard

from grader.course import History, Standing
from grader.model.outcomes import Outcome, Status
from grader.model.results import EntryResult
from grader.reports.report import Row, course_page, page


@pytest.mark.parametrize(
    "history",
    [
        pytest.param(History((WRONG, complete())), id="complete"),
        pytest.param(History((WRONG,), missing_guard(), unreadable=2), id="wrong"),
        pytest.param(History((not_started(**of("03_copy", "Copy")),)), id="not-started"),
    ],
)
def test_a_page_shows_all_of_a_result(history: History, snapshot: SnapshotAssertion):
    assert text(page(history, "A small course", "02_row_sum")) == snapshot


def test_the_page_of_a_course(snapshot: SnapshotAssertion):
    done = Standing(True, 10, 10, 0.93, "2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z")
    begun = Standing(points=3, of=10, checked_at="2026-11-21T10:00:00Z")
    rows = [
        Row("p01_copy", "Copy", "puzzles", "numba CUDA", Standing()),
        Row("01_double", "Double", "exercises", "Triton", done, "01_double.html"),
        Row("02_row_sum", "Row sum", "exercises", "Triton", begun, "02_row_sum.html"),
    ]
    assert text(course_page("A small course", rows)) == snapshot


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"outcome": Outcome.SKIP, "summary": "needs a CUDA GPU"}, "No speed: needs a CUDA GPU"),
        (
            {"outcome": Outcome.NOT_RUN, "summary": "not run"},
            "No speed: speed was not run, because a step before it did not pass.",
        ),
    ],
)
def test_a_page_says_why_there_is_no_speed(change: dict, sentence: str):
    steps = (*PASSED.steps[:-1], PASSED.steps[-1].model_copy(update=change))
    shown = text(page(History((PASSED.model_copy(update={"steps": steps}),))))
    assert sentence in " ".join(shown.split())


def test_a_page_says_that_an_exercise_has_no_speed_to_grade():
    puzzle = PASSED.model_copy(update={"steps": PASSED.steps[:-1]})
    assert "No speed: this exercise does not grade it." in text(page(History((puzzle,))))


def test_a_check_that_the_machine_disturbed_is_no_failure_of_the_kernel():
    shown = page(History((noisy(),)))
    assert 'class="verdict faint"' in shown
    assert "another program uses this GPU" in shown


def test_texts_of_a_kernel_stay_texts():
    """A message can hold whatever a learner's exception says, and so can a kernel's name."""
    evil = "</pre><script>alert(1)</script>"
    result = wrong(evil, **of("02_row_sum", evil))
    compiled = COMPILED.model_copy(update={"kernel": evil})
    changed = result.steps[0].model_copy(update={"compiled": (compiled,), "memory": MEMORY})
    trace = missing_guard().model_copy(update={"case": evil})
    shown = page(
        History((result.model_copy(update={"steps": (changed, *result.steps[1:])}),), trace), evil
    )
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") >= 5


def test_each_entry_of_a_file_has_its_own_steps():
    entries = tuple(
        EntryResult(entry=name, status=status, points=0, max_points=10, steps=one.steps)
        for name, status, one in (
            ("norm", Status.PASS, PASSED),
            ("norm_backward", Status.FAIL, WRONG),
        )
    )
    shown = text(page(History((WRONG.model_copy(update={"entries": entries}),))))
    assert "Steps of norm\n" in shown
    assert "The failure at correctness of norm_backward\n" in shown
    assert shown.count("Picture of the failing case\n") == 1


def test_the_place_of_the_measurement_is_named():
    assert H200["device"] in text(page(History((complete(),))))


def test_a_point_below_the_roof_of_memory_needs_the_operations_of_a_call():
    """A bound of bandwidth measures no arithmetic: its result alone places no point."""
    history = History((timed(),))
    drawn = text(page(history, operations=lambda entry, case: 268_435_456))
    assert (
        "[Roofline of memory: it allows 4.7 TB/s; arithmetic was not measured. 268435456 float32: "
        "0.537 TFLOP/s at 0.125 operations a byte.]"
    ) in drawn
    assert "No roofline" not in drawn
    assert "No roofline: it needs the operations of a call" in text(page(history))
