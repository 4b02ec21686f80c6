"""Keys, saves and the judge's answers change the loop's state; nothing is started here."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from loops import LOADED, after, begun, result
from reported import ended, step

from grader.cli.loop import keys, state, transitions
from grader.cli.loop.state import (
    Choose,
    Grade,
    Interrupt,
    Look,
    Loop,
    Remember,
    Run,
    Sweep,
    View,
    Why,
)
from grader.cli.loop.transitions import RESTARTED
from grader.model.outcomes import Outcome, Status


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    return begun(tmp_path)


def saved(digest: str | None) -> partial[state.Change]:
    return partial(transitions.looked, digest=digest)


def graded(number: int, name: str, status: Status, digest: str = "a") -> partial[state.Change]:
    return partial(
        transitions.graded, number=number, result=result(name, status, digest), waited_s=1.0
    )


def over(number: int, error: str = "", crash: bool = False) -> partial[state.Change]:
    return partial(transitions.over, number=number, error=error, crash=crash)


def no_gpu(number: int) -> partial[state.Change]:
    return partial(
        transitions.over, number=number, error="There is no GPU.", advice="Look for one."
    )


def test_a_loop_begins_at_the_first_unfinished_exercise(loop: Loop):
    assert loop.names == ["p01_copy", "01_double", "02_row_sum"]
    assert loop.current == "p01_copy"


def test_a_save_is_graded_and_the_same_content_is_not_again(loop: Loop):
    loop, deeds = after(loop, saved("a"))
    assert deeds == [Grade(Run(1, "p01_copy", Why.SAVED))]
    loop, deeds = after(loop, graded(1, "p01_copy", Status.PASS), over(1))
    assert [type(one) for one in deeds] == [Remember]
    assert (loop.run, loop.answers["p01_copy"].result.status) == (None, Status.PASS)
    assert after(loop, saved("a"))[1] == []
    assert after(loop, saved("b"))[1] == [Grade(Run(2, "p01_copy", Why.SAVED))]


def test_a_save_while_a_run_is_in_work_gives_it_up(loop: Loop):
    loop, deeds = after(loop, saved("a"), saved("b"))
    assert deeds[1:] == [Interrupt(), Grade(Run(2, "p01_copy", Why.SAVED))]
    late, deeds = after(loop, graded(1, "p01_copy", Status.PASS), over(1))
    assert (late, deeds) == (loop, [])


def test_steps_are_kept_in_the_order_in_which_they_end(loop: Loop):
    began = partial(transitions.began, number=1, step="correctness", slow="it is large")
    loop, _ = after(loop, saved("a"), partial(transitions.ended, number=1, step=LOADED), began)
    assert loop.run is not None
    assert (loop.run.ended, loop.run.step, loop.run.slow) == (
        (LOADED,),
        "correctness",
        "it is large",
    )
    stale = partial(transitions.ended, number=7, step=LOADED)
    assert after(loop, stale, partial(transitions.began, number=7, step="x", slow=""))[0] == loop


def test_a_crash_is_tried_once_more_and_then_told(loop: Loop):
    loop, deeds = after(loop, saved("a"), over(1, "it ended", crash=True))
    again = Run(2, "p01_copy", Why.SAVED, again=True)
    assert (loop.note, deeds[1:]) == (RESTARTED, [Grade(again)])
    loop, deeds = after(loop, over(2, "it ended", crash=True))
    assert (loop.run, deeds) == (None, [])
    assert loop.answers["p01_copy"].error == "it ended"
    assert after(loop, saved("a"))[1] == [Grade(Run(3, "p01_copy", Why.SAVED))]


def test_a_run_that_ends_without_a_result_is_no_pass(loop: Loop):
    loop, _ = after(loop, saved("a"), over(1))
    assert loop.answers["p01_copy"].result is None
    assert loop.answers["p01_copy"].error == "The judge ended without a verdict."


def test_a_missing_file_is_named(loop: Loop):
    loop, deeds = after(loop, saved(None))
    assert deeds == []
    assert (
        loop.answers["p01_copy"].error == "kernel.py of p01_copy does not exist, or cannot be read."
    )


def test_another_exercise_gives_up_the_run_of_the_one_before(loop: Loop):
    loop, _ = after(loop, saved("a"))
    loop, deeds = after(loop, partial(transitions.arrive, name="01_double"))
    assert deeds == [Interrupt(), Choose("01_double"), Look()]
    assert (loop.current, loop.run, dict(loop.digests)) == ("01_double", None, {})


def test_all_are_checked_in_their_order_and_counted(loop: Loop):
    loop, deeds = after(loop, transitions.sweep)
    assert deeds == [Grade(Run(1, "p01_copy", Why.SWEEP))]
    for number, name in enumerate(loop.names, start=1):
        status = Status.PASS if number == 2 else Status.FAIL
        loop, _ = after(loop, graded(number, name, status), over(number))
    assert (loop.sweep, loop.run) == (None, None)
    assert loop.note == "All exercises are checked: 1 of 3 pass."


def test_a_save_goes_before_the_check_of_all_which_then_goes_on(loop: Loop):
    loop, _ = after(loop, transitions.sweep, graded(1, "p01_copy", Status.FAIL), over(1))
    loop, deeds = after(loop, saved("b"))
    assert deeds == [Interrupt(), Grade(Run(3, "p01_copy", Why.SAVED))]
    assert loop.sweep == Sweep(("01_double", "02_row_sum"), passed=0, done=1)
    loop, deeds = after(loop, graded(3, "p01_copy", Status.PASS, "b"), over(3))
    assert deeds[1:] == [Grade(Run(4, "01_double", Why.SWEEP))]


def test_the_check_of_all_goes_on_after_a_look_at_another_exercise(loop: Loop):
    loop, _ = after(loop, transitions.sweep, graded(1, "p01_copy", Status.FAIL), over(1))
    loop, _ = after(loop, saved("b"), partial(transitions.arrive, name="01_double"), saved(None))
    assert loop.run == Run(4, "01_double", Why.SWEEP), "it would stand still else"


def test_a_second_press_stops_the_check_of_all(loop: Loop):
    loop, deeds = after(loop, transitions.sweep, transitions.sweep)
    assert deeds[1:] == [Interrupt()]
    assert (loop.sweep, loop.run) == (None, None)


def test_a_broken_exercise_stops_nothing(loop: Loop):
    loop, deeds = after(
        replace(loop, sweep=Sweep(("02_row_sum",))),
        partial(transitions.broken, message="SPEC", advice=""),
    )
    assert loop.answers["p01_copy"].error == "SPEC"
    assert deeds == [Grade(Run(1, "02_row_sum", Why.SWEEP))]


def test_reports_and_pages_give_way_to_another_exercise(loop: Loop):
    loop, _ = after(
        replace(loop, view=View.LIST, asking=True), partial(transitions.arrive, name="01_double")
    )
    assert (loop.view, loop.asking) == (View.REPORT, False)


def test_without_a_gpu_a_measurement_of_speed_leaves_the_verdict(loop: Loop):
    loop, _ = after(loop, saved("a"), graded(1, "p01_copy", Status.PASS), over(1))
    loop, _ = after(loop, keys.speed, no_gpu(2))
    assert (loop.run, loop.note) == (None, "There is no GPU. Look for one.")
    assert loop.answers["p01_copy"].result.status is Status.PASS
    assert after(loop, saved("a"))[1] == [], "the file is graded as it is"


def test_a_speed_that_cannot_be_graded_leaves_the_verdict_too(loop: Loop):
    """A judge without a GPU ends with a result, whose last step says why."""
    loop, _ = after(loop, saved("a"), graded(1, "p01_copy", Status.PASS), over(1))
    unmeasured = step("speed", Outcome.CANNOT_GRADE, summary="needs a CUDA GPU: there is none")
    whole = ended(Status.CANNOT_GRADE, LOADED, unmeasured)
    late = partial(transitions.graded, number=2, result=whole, waited_s=1.0)
    loop, deeds = after(loop, keys.speed, late, over(2))
    assert not [one for one in deeds if isinstance(one, Remember)]
    assert (loop.run, loop.note) == (None, "Speed needs a CUDA GPU: there is none.")
    assert loop.answers["p01_copy"].result.status is Status.PASS


def test_a_save_closes_what_hides_its_answer_and_a_lesson_stays(loop: Loop):
    for view in View:
        page = state.Page(view, "", "")
        shown, _ = after(replace(loop, view=view, page=page), saved("a"))
        kept = view in (View.LESSON, View.DIFF, View.REPORT)
        assert shown.view is (view if kept else View.REPORT)


def test_a_report_in_full_ends_with_its_exercise(loop: Loop):
    """It stayed on, and nothing showed that: the next report was long for no visible reason."""
    loop, _ = keys.press(loop, "v")
    assert loop.whole
    assert after(loop, saved("a"))[0].whole, "a save shows its report in full, too"
    for move in ("n", "p"):
        loop, _ = keys.press(replace(loop, whole=True), move)
        assert not loop.whole
