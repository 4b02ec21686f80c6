"""The screen of the loop as text, in two sizes; `make golden` renews what these tests compare."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import traces
from loop_page import screen
from loops import LOADED, after, begun, result
from syrupy.assertion import SnapshotAssertion

from grader.cli.loop import drawing, keys, pages, session, state, transitions
from grader.cli.loop.state import Loop, View
from grader.course.progress import Standing
from grader.model.outcomes import Status

ROOT = Path(__file__).parents[3]
SIZES = [(80, 24), (120, 40), (40, 12)]


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    return begun(tmp_path)


def checked(loop: Loop, status: Status, **changes: str) -> Loop:
    done = result(loop.current, status, **changes)
    graded = partial(transitions.graded, number=1, result=done, waited_s=0.84)
    over = partial(transitions.over, number=1)
    return after(loop, partial(transitions.looked, digest="a"), graded, over)[0]


def in_work(loop: Loop) -> Loop:
    ended = partial(transitions.ended, number=1, step=LOADED)
    began = partial(transitions.began, number=1, step="correctness", slow="it is large")
    return after(loop, partial(transitions.looked, digest="a"), ended, began)[0]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("status", [Status.PASS, Status.FAIL, Status.NOT_STARTED])
def test_a_checked_exercise(
    loop: Loop, status: Status, size: tuple[int, int], snapshot: SnapshotAssertion
):
    assert screen(checked(loop, status), *size) == snapshot


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_verdict_and_the_next_step_are_the_last_lines_of_every_view(
    loop: Loop, size: tuple[int, int]
):
    loop = checked(loop, Status.FAIL)
    for view in View:
        content = "line\n" * 100
        page = None if view in (View.REPORT, View.LIST) else state.Page(view, "", content)
        lines = screen(replace(loop, view=view, page=page), *size).splitlines()
        assert len(lines) <= size[1]
        end = " ".join(" ".join(lines[-3:]).split())
        assert end.endswith("next: change kernel.py and save; h shows a hint")
        assert "FAIL  0/10 points" in "\n".join(lines[-3:])


@pytest.mark.parametrize(
    ("standing", "lost"),
    [
        (Standing(passed=True, points=7, of=10), "without the pass and 7 points."),
        (Standing(points=3, of=10), "without 3 points."),
        (Standing(), None),
    ],
    ids=["passed", "some points", "nothing"],
)
def test_a_question_about_a_reset_says_what_is_lost(
    loop: Loop, standing: Standing, lost: str | None
):
    known = replace(loop.progress, standings={loop.current: standing})
    shown = screen(replace(loop, progress=known, asking=True), 80, 24)
    assert "RESET kernel.py of p01_copy?" in shown
    assert ("begins anew in the list" in shown) == (lost is not None)
    assert (lost or "") in shown


def test_a_check_in_work_shows_the_steps_that_have_ended(loop: Loop, snapshot: SnapshotAssertion):
    loop = in_work(loop)
    assert screen(loop, 80, 24) == snapshot
    assert "correctness 7 s: it is large" in screen(loop, 80, 24, elapsed_s=7.3)


def test_what_a_kernel_printed_is_above_its_report(loop: Loop, snapshot: SnapshotAssertion):
    printed = "".join(f"i = {number}\x1b[2J\n" for number in range(9))
    loop = checked(loop, Status.FAIL, output=printed)
    assert screen(loop, 80, 24) == snapshot
    assert "i = 0" in screen(replace(loop, whole=True), 80, 40)


def test_the_list_shows_what_is_done_around_the_cursor(loop: Loop, snapshot: SnapshotAssertion):
    standings = {
        "p01_copy": Standing(True, 7, 7, None, "2026-11-26T12:00:00Z", "2026-11-26T12:00:00Z"),
        "01_double": Standing(points=3, of=10, checked_at="2026-11-26T12:00:00Z"),
    }
    progress = replace(loop.progress, standings=standings)
    loop, _ = keys.press(replace(loop, progress=progress, current="01_double"), "l")
    assert screen(loop, 80, 24) == snapshot
    assert drawing.list_of(loop, 80, 1).plain.startswith("> ● 01_double")


def test_an_error_a_question_a_note_and_the_help(loop: Loop, snapshot: SnapshotAssertion):
    crash = partial(transitions.over, number=1, error="The judge ended.", advice="press r")
    failed, _ = after(loop, partial(transitions.looked, digest="a"), crash)
    shown = [
        loop,
        failed,
        keys.press(loop, "x")[0],
        keys.press(loop, "p")[0],
        keys.press(loop, "question_mark")[0],
        keys.sweep(loop)[0],
    ]
    assert "\n\n".join(screen(one, 80, 22) for one in shown) == snapshot


def test_a_picture_fits_the_screen_and_is_whole_on_demand(loop: Loop):
    answer = replace(checked(loop, Status.FAIL).answers[loop.current], trace=traces.many())
    short, whole = (drawing.report(answer, 80, height).plain for height in (18, None))
    assert len(short.splitlines()) <= 18
    assert len(whole.splitlines()) > 18
    assert "`-v`" not in short
    assert "`v`" in short


def test_pages_are_of_the_current_exercise(loop: Loop, snapshot: SnapshotAssertion):
    (loop.exercise.folder / "README.md").write_text("# Copy\n\nThe *idea*:\n\n- one\n")
    standings = {loop.current: Standing(hints=1)}
    loop = replace(loop, progress=replace(loop.progress, standings=standings))
    hints = replace(loop, current="01_double")
    shown = [
        transitions.opened(loop, pages.make(loop, View.LESSON, 80))[0],
        transitions.opened(loop, pages.make(loop, View.DIFF, 80))[0],
        transitions.opened(hints, pages.make(hints, View.HINTS, 80))[0],
    ]
    assert "\n\n".join(screen(one, 80, 22) for one in shown) == snapshot


def test_every_key_has_a_letter_of_its_own_and_a_word(loop: Loop):
    letters = [key.letter for key in keys.KEYS]
    assert len(set(letters)) == len(letters)
    assert not {"y", *keys.MOVES} & set(letters) - {"k", "j"}
    assert all(key.word and key.does for key in keys.KEYS)
    assert len(drawing.key_line(loop, 80)) <= 80


def test_speed_is_measured_where_it_is_graded(loop: Loop):
    (grade,) = keys.press(loop, "b")[1]
    assert isinstance(grade, state.Grade)
    assert grade.run.why is state.Why.SPEED
    course = session.first_loop(ROOT, "p01")
    assert keys.press(course, "b")[0].note == "p01_map has no speed to measure."
