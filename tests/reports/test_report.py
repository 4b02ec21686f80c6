"""A learner's pages: all that a result has is there, and what it lacks is named with its reason."""

from __future__ import annotations

import re

import pytest
from learners_results import COMPILED, MEMORY, OVER_CALL, WRONG, complete
from page_text import text
from publications import H200
from reported import PASSED, ended, noisy, not_started, of, step, timed, wrong
from syrupy.assertion import SnapshotAssertion
from traces import missing_guard

from grader.course import History, Standing
from grader.model.outcomes import Outcome, Status
from grader.model.results import EntryResult, Failure, Frame, HeldOverCall
from grader.model.verdict import first_problem
from grader.reports.report import Row, course_page, page
from grader.reports.report_plots import over_call_plot


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


def with_over_call(over: HeldOverCall | None) -> str:
    """The page of a result whose memory has this series, as text on one line."""
    memory = MEMORY.model_copy(update={"over_call": over})
    steps = [
        one.model_copy(update={"memory": memory}) if one.memory else one for one in complete().steps
    ]
    result = complete().model_copy(update={"steps": tuple(steps)})
    return " ".join(text(page(History((result,)))).split())


@pytest.mark.slow
def test_a_page_draws_the_bytes_of_a_call_beside_torchs():
    shown = with_over_call(OVER_CALL)
    assert "Memory over one call, 8 elements of float32" in shown
    assert "The kernel: at most 64 B beyond its arguments, 2 changes." in shown
    assert "Torch: at most 4 KiB beyond its inputs, 3 changes; its outputs are 1 KiB." in shown
    assert "No memory over one call" not in shown


def test_a_kernel_that_allocates_nothing_is_a_flat_line():
    svg = over_call_plot(OVER_CALL.model_copy(update={"kernel": ((0, 0),)})).svg
    assert "nothing" in svg
    assert "at most 4 KiB" in svg
    assert "allocations and releases, in order" in svg


def test_a_call_that_holds_nothing_at_all_is_drawn():
    nothing = HeldOverCall(case="8 elements of float32", kernel=((0, 0),), torch=((0, 0),))
    assert over_call_plot(nothing).svg.count("nothing") == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("over", "reason"),
    [
        (None, "it comes from a call counted in simulation, and this result has none."),
        (
            OVER_CALL.model_copy(update={"kernel": (), "missing": "the process sent no series"}),
            "the process sent no series.",
        ),
        (
            OVER_CALL.model_copy(update={"torch": (), "missing": "torch's own call failed"}),
            "torch's own call failed.",
        ),
        (OVER_CALL.model_copy(update={"kernel": ()}), "the result lacks a series."),
    ],
    ids=["none", "of the kernel", "of torch", "no reason"],
)
def test_a_page_says_why_there_is_no_memory_over_a_call(over: HeldOverCall | None, reason: str):
    shown = with_over_call(over)
    assert f"No memory over one call: {reason}" in shown
    assert "Memory over one call, 8 elements of float32" not in shown


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


def test_only_a_case_that_failed_is_called_a_failing_case():
    """The page of a kernel that passed had a picture "of the failing case"."""
    failed = text(page(History((WRONG,))))
    broken = Failure(kind="exception", message="ModuleNotFoundError: No module named 'x'")
    unloadable = ended(Status.FAIL, step("load", Outcome.FAIL, broken))
    for other in (PASSED, not_started(), unloadable):
        shown = text(page(History((other,))))
        assert "Picture of the failing case" not in shown
        assert "Picture\nNo case failed, so there is no picture.\n" in shown
    assert "Picture of the failing case\nNo picture: none is kept" in failed


def test_each_line_of_a_traceback_is_on_a_line_of_its_own():
    frames = tuple(Frame(line=n, function="f", code=f"call_{n}()") for n in (3, 9))
    problem = first_problem(WRONG)
    failure = problem.failure.model_copy(update={"frames": frames})
    result = WRONG.model_copy(update={"steps": (problem.model_copy(update={"failure": failure}),)})
    shown = page(History((result,)))
    assert re.search(r"<dd><code>\S+:3 in f: call_3\(\)</code>\n<code>\S+:9 in f:", shown)


@pytest.mark.slow
def test_the_place_of_the_measurement_is_named():
    assert H200["device"] in text(page(History((complete(),))))


@pytest.mark.slow
def test_a_point_below_the_roof_of_memory_needs_the_operations_of_a_call():
    """A bound of bandwidth measures no arithmetic: its result alone places no point."""
    history = History((timed(),))
    drawn = text(page(history, operations=lambda entry, case: 268_435_456))
    assert (
        "[Roofline of memory: it allows 4.7 TB/s; arithmetic was not measured. 268,435,456 "
        "elements of float32: 0.537 TFLOP/s at 0.125 operations a byte.]"
    ) in drawn
    assert "No roofline" not in drawn
    assert "No roofline: it needs the operations of a call" in text(page(history))
