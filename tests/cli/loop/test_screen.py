"""The loop on a screen, driven by textual's pilot: every key, and what a save does."""

from __future__ import annotations

import asyncio
import re
import subprocess
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from loops import Script, opened, small_course
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Static

from grader.cli.loop import editors, session, transitions
from grader.cli.loop.screen import LoopApp
from grader.course import progress
from grader.model.errors import GraderError
from grader.model.outcomes import Status

pytestmark = pytest.mark.slow

Drive = Callable[[LoopApp, "Pilot[None]"], Awaitable[None]]
TODO = {"TODO": Status.NOT_STARTED, "wrong": Status.FAIL}


@pytest.fixture
def course(tmp_path: Path) -> Path:
    root = small_course(tmp_path)
    for name in ("puzzles/p01_copy", "exercises/01_double", "exercises/02_row_sum"):
        (root / name / "kernel.py").write_text("# TODO\n", encoding="utf-8")
    return root


def drive(course: Path, judge: Script, do: Drive, size: tuple[int, int] = (80, 24)) -> LoopApp:
    """Run the app over a course without a terminal, and let `do` press keys."""
    loop = session.first_loop(course, None)
    app = LoopApp(partial(opened, loop, judge))

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await shows(app, pilot, "NOT STARTED")
            await do(app, pilot)

    try:
        asyncio.run(run())
    finally:
        app.session.close()
    return app


def lines(app: App[None]) -> list[str]:
    """Return the lines of the screen, as they are drawn."""
    width, height = app.size
    drawn = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip)[:width] for strip in drawn][:height]


async def shows(app: LoopApp, pilot: Pilot[None], text: str, patience_s: float = 30.0) -> None:
    """Wait until the screen shows a text."""
    end = time.monotonic() + patience_s
    while text not in "\n".join(lines(app)):
        assert time.monotonic() < end, "\n".join(lines(app))
        await pilot.pause(0.02)


async def pressed(app: LoopApp, pilot: Pilot[None], key: str, text: str) -> None:
    await pilot.press(key)
    await shows(app, pilot, text)


def test_a_save_is_answered_and_the_verdict_stands_last(course: Path):
    async def do(app: LoopApp, pilot: Pilot[None]) -> None:
        kernel = app.session.loop.exercise.kernel
        kernel.write_text("wrong\n", encoding="utf-8")
        await shows(app, pilot, "FAIL  0/10 points")
        kernel.write_text("right\n", encoding="utf-8")
        await shows(app, pilot, "PASS  3/10 points")
        assert lines(app)[-1].strip() == "next: n goes on to 01_double"
        assert lines(app)[0].startswith("✔ p01_copy  Copy")
        assert app.session.loop.current == "p01_copy", "no auto-advance"

    drive(course, Script(TODO), do)
    standing = progress.read(course).standings["p01_copy"]
    assert (standing.passed, standing.points) == (True, 3)


def test_a_save_while_a_check_is_in_work_begins_anew(course: Path):
    judge = Script(TODO)

    async def do(app: LoopApp, pilot: Pilot[None]) -> None:
        kernel = app.session.loop.exercise.kernel
        kernel.write_text("wait\n", encoding="utf-8")
        await shows(app, pilot, "CHECKING  correctness")
        assert "✔ load" in "\n".join(lines(app)), "steps appear as they end"
        await pressed(app, pilot, "question_mark", "go to the next exercise")  # keys stay live
        kernel.write_text("wrong\n", encoding="utf-8")
        await shows(app, pilot, "FAIL")

    drive(course, judge, do)
    assert judge.asked == ["p01_copy"] * 3


def test_every_key(course: Path, monkeypatch: pytest.MonkeyPatch):
    edited: list[list[str]] = []
    monkeypatch.setattr(LoopApp, "edit", lambda self, path: edited.append([path.name]) or "edited")
    (course / "course.toml").write_text('name = "small"\nsolutions = "now"\n', encoding="utf-8")
    (course / "puzzles/p01_copy/README.md").write_text("# A lesson\n", encoding="utf-8")

    async def do(app: LoopApp, pilot: Pilot[None]) -> None:
        await pressed(app, pilot, "h", "1. Which thread am I?")
        await pressed(app, pilot, "h", "2. ")
        await pressed(app, pilot, "escape", "correctness")
        await pressed(app, pilot, "h", "2. ")  # the ones that were shown, and no other
        await pressed(app, pilot, "o", "A lesson")
        await pressed(app, pilot, "o", "correctness")
        await pressed(app, pilot, "d", "+# TODO")
        await pressed(app, pilot, "s", "the model solution")
        await pressed(app, pilot, "q", "correctness")
        await pressed(app, pilot, "question_mark", "check the file again")
        await pressed(app, pilot, "escape", "correctness")
        await pressed(app, pilot, "e", "edited")
        await pressed(app, pilot, "p", "This is the first exercise.")
        await pressed(app, pilot, "n", "01_double")
        await shows(app, pilot, "NOT STARTED")
        await pressed(app, pilot, "l", "> ○ 01_double")
        await pilot.press("down", "enter")
        await shows(app, pilot, "○ 02_row_sum")
        await shows(app, pilot, "NOT STARTED")
        await pressed(app, pilot, "n", "This is the last exercise.")
        asked = len(judge.asked)
        await pressed(app, pilot, "r", "NOT STARTED")
        await pilot.pause(0.2)
        assert len(judge.asked) == asked + 1
        await pressed(app, pilot, "c", "0 of 3 pass")
        await pressed(app, pilot, "b", "NOT STARTED")
        await pressed(app, pilot, "v", "correctness")
        await pressed(app, pilot, "x", "RESET kernel.py of 02_row_sum?")
        await pressed(app, pilot, "n", "Nothing was reset.")
        await pressed(app, pilot, "x", "RESET")
        await pressed(app, pilot, "y", ".grader/backups/02_row_sum/kernel-")
        await pilot.press("q")

    judge = Script(TODO)
    app = drive(course, judge, do)
    assert app.return_code == 0
    assert edited == [["kernel.py"]]
    known = progress.read(course)
    assert (known.current, known.standings["p01_copy"].hints) == ("02_row_sum", 2)
    (backup,) = course.glob(".grader/backups/02_row_sum/kernel-*.py")
    assert backup.read_text(encoding="utf-8") == "# TODO\n"
    assert judge.closed


def test_a_crash_of_the_judge_is_told_in_one_line_and_the_loop_goes_on(course: Path):
    judge = Script(TODO | {"crash": GraderError("The judge ended (exit status -9).", "Say so.")})

    async def do(app: LoopApp, pilot: Pilot[None]) -> None:
        kernel = app.session.loop.exercise.kernel
        kernel.write_text("crash\n", encoding="utf-8")
        await shows(app, pilot, "NO VERDICT  The judge ended (exit status -9).")
        await shows(app, pilot, transitions.RESTARTED)
        kernel.write_text("wrong\n", encoding="utf-8")
        await shows(app, pilot, "FAIL")

    drive(course, judge, do)
    assert judge.asked == ["p01_copy"] * 4


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (30, 8)], ids=str)
def test_the_last_lines_stay_in_view_in_every_size(course: Path, size: tuple[int, int]):
    async def do(app: LoopApp, pilot: Pilot[None]) -> None:
        app.session.loop.exercise.kernel.write_text("wrong\n", encoding="utf-8")
        await shows(app, pilot, "FAIL")
        assert "hint" in " ".join(lines(app)[-2:])
        await pilot.resize_terminal(100, 30)
        await pilot.pause(0.1)
        assert lines(app)[-1].strip() == "next: change kernel.py and save; h shows a hint"

    drive(course, Script(TODO), do, size)


def test_a_long_page_scrolls_and_the_verdict_does_not(course: Path):
    text = "\n\n".join(f"line {number}" for number in range(99))
    (course / "puzzles/p01_copy/README.md").write_text(text, encoding="utf-8")

    async def do(app: LoopApp, pilot: Pilot[None]) -> None:
        await pressed(app, pilot, "o", "line 3")
        await pressed(app, pilot, "end", "line 98")
        await pressed(app, pilot, "home", "line 0")
        await pressed(app, pilot, "pagedown", "line 12")
        assert "NOT STARTED" in "\n".join(lines(app)[-3:])

    drive(course, Script(TODO), do)


def test_colours_are_the_terminals_own_and_none_where_none_are_wanted(
    course: Path, monkeypatch: pytest.MonkeyPatch
):
    async def do(app: LoopApp, pilot: Pilot[None]) -> None:
        svg = app.export_screenshot()
        colours.append(set(re.findall(r"fill: (#\w+)", svg)))
        assert str(app.query_one("#bottom", Static).styles.background) is not None

    colours: list[set[str]] = []
    drive(course, Script(TODO), do)
    monkeypatch.setenv("NO_COLOR", "1")
    drive(course, Script(TODO), do)
    assert len(colours[0]) > len(colours[1])


@pytest.mark.parametrize(
    ("variables", "command"),
    [
        ({"VISUAL": "code --wait", "EDITOR": "nano"}, ["code", "--wait"]),
        ({"EDITOR": "emacs -nw"}, ["emacs", "-nw"]),
        ({"EDITOR": "an 'unclosed"}, ["an 'unclosed"]),
        ({"EDITOR": ""}, []),
        ({}, []),
    ],
)
def test_the_editor_is_the_learners(
    variables: dict[str, str], command: list[str], monkeypatch: pytest.MonkeyPatch
):
    """Without one, `vi` was opened, which a learner did not know how to leave."""
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    assert editors.editor() == command


def test_without_an_editor_or_a_terminal_a_note_says_what_to_do(
    course: Path, monkeypatch: pytest.MonkeyPatch
):
    ran: list[object] = []
    monkeypatch.setattr(subprocess, "run", lambda *args, **more: ran.append(args))
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.chdir(course)

    async def do(app: LoopApp, pilot: Pilot[None]) -> None:
        await pressed(app, pilot, "e", "puzzles/p01_copy/kernel.py in an editor of your own")
        assert "No editor is set: type `export EDITOR=nano`" in "\n".join(lines(app))
        monkeypatch.setenv("EDITOR", "vi")
        await pressed(app, pilot, "e", "open the file beside the loop")

    drive(course, Script(TODO), do)
    assert ran == []
