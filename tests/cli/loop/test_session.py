"""The session does what the state asks for, and a file that it cannot read ends no loop."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from loops import small_course
from rich.text import Text

from grader.cli.loop import drawing, plain, session, transitions
from grader.cli.loop.session import Session
from grader.cli.loop.state import Loop, Run
from grader.grading import Request

BROKEN = "01_double"
SAID = f"The exercise {BROKEN} is broken"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    root = small_course(tmp_path)
    (root / "exercises" / BROKEN / "spec.py").write_text("syntax error here\n", encoding="utf-8")
    return root


@pytest.fixture
def opened(course: Path) -> Callable[[str], tuple[Session, Sequence[str]]]:
    """Open a session whose judge gives up each run at once; return it, and what plain prints."""

    def begin(name: str) -> tuple[Session, Sequence[str]]:
        def grade(run: Run, request: Request) -> None:
            made.happen(partial(transitions.over, number=run.number, error="No judge."))

        def show(before: Loop, after: Loop) -> None:
            printed.extend(
                part.plain for part in plain.said(before, after, 80) if isinstance(part, Text)
            )

        printed: list[str] = []
        judge = SimpleNamespace(start=lambda: None, grade=grade, interrupt=lambda: None)
        front = SimpleNamespace(show=show, edit=lambda path: "edited", width=80)
        watch = SimpleNamespace(turn_to=lambda *paths: None)
        made = Session(session.first_loop(course, name), judge, watch, front)
        made.start()
        return made, printed

    return begin


def test_the_check_of_all_goes_on_behind_a_broken_exercise(
    opened: Callable[[str], tuple[Session, Sequence[str]]],
):
    made, printed = opened("p01")
    made.press("c")
    assert made.loop.note == "All exercises are checked: 0 of 3 pass."
    (line,) = [line for line in printed if line.startswith(BROKEN)]
    assert line.startswith(f"{BROKEN}: no verdict. {SAID}")
    assert "02_row_sum: no verdict. No judge." in printed


@pytest.mark.parametrize("key", ["r", "b", "x", "e", "d", "t", "h", "v", "s"])
def test_no_key_ends_the_loop_in_a_broken_exercise(
    key: str, opened: Callable[[str], tuple[Session, Sequence[str]]]
):
    made, _ = opened(BROKEN)
    made.press(key)
    shown = drawing.bottom(made.loop, 80, 0.0).plain
    assert "NO VERDICT" in shown
    assert SAID in " ".join(shown.split())
    assert not made.loop.asking


@pytest.mark.parametrize(
    ("key", "file"),
    [
        ("o", "puzzles/p01_copy/README.md"),
        ("d", "puzzles/p01_copy/kernel.py"),
        ("s", "solutions/p01_copy/kernel.py"),
    ],
)
def test_a_page_of_a_file_that_cannot_be_read_is_a_note(
    key: str,
    file: str,
    course: Path,
    opened: Callable[[str], tuple[Session, Sequence[str]]],
    monkeypatch: pytest.MonkeyPatch,
):
    def read(path: Path, *args: str, **more: str) -> str:
        if path == course / file:
            raise PermissionError(errno.EACCES, "Permission denied")
        return really_read(path, *args, **more)

    made, _ = opened("p01")
    (course / "course.toml").write_text('name = "small"\nsolutions = "now"\n', encoding="utf-8")
    (course / "puzzles/p01_copy/README.md").write_text("# Copy\n", encoding="utf-8")
    really_read = Path.read_text
    monkeypatch.setattr(Path, "read_text", read)
    made.press(key)
    assert f"{file} cannot be read: Permission denied." in made.loop.note
