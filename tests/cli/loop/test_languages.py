"""The requests of a loop: the file that was saved last, and what is compiled for which GPU."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.cli.loop import drawing, plain, session, transitions
from grader.cli.loop.session import Session
from grader.cli.loop.state import Run
from grader.grading import Options, Request

ROOT = Path(__file__).parents[3]
CUDA, TRITON = "kernel_cuda.py", "kernel.py"


@dataclass
class Opened:
    """A session without judge and watch: what it would have them do."""

    session: Session
    graded: list[str] = field(default_factory=list)
    asked: list[Options] = field(default_factory=list)
    watched: list[tuple[str, ...]] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)

    def save(self, file: str) -> None:
        path = self.session.loop.exercise.folder / file
        saves = len(self.graded) + 1
        path.write_text(f"# save {saves}\n", encoding="utf-8")
        os.utime(path, (2e9 + saves, 2e9 + saves))  # one later than the other, on any clock
        self.session.happen(transitions.saved)


@pytest.fixture
def course(tmp_path: Path) -> Path:
    for folder in ("exercises/01_vector_add", "solutions/01_vector_add", "puzzles/p01_map"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


@pytest.fixture
def opened(course: Path) -> Callable[[str], Opened]:
    def begin(name: str) -> Opened:
        front = SimpleNamespace(
            show=lambda before, after: None,
            edit=lambda path: made.edited.append(path.name) or "",
        )

        def grade(run: Run, request: Request) -> None:
            made.graded.append(request.kernel.name)
            made.asked.append(request.options)

        judge = SimpleNamespace(start=lambda: None, grade=grade, interrupt=lambda: None)
        watch = SimpleNamespace(
            turn_to=lambda *paths: made.watched.append(tuple(path.name for path in paths))
        )
        made = Opened(Session(session.first_loop(course, name), judge, watch, front))
        made.session.start()
        return made

    return begin


def test_both_files_are_watched_and_the_first_is_checked_while_neither_was_touched(
    opened: Callable[[str], Opened],
):
    one = opened("01")
    assert one.watched == [(TRITON, CUDA)]
    assert one.graded == [TRITON]


def test_a_save_turns_to_the_file_that_it_changed(opened: Callable[[str], Opened]):
    one = opened("01")
    one.save(CUDA)
    one.save(CUDA)
    one.save(TRITON)
    assert one.graded == [TRITON, CUDA, CUDA, TRITON]


def test_keys_screen_and_messages_follow_the_file(opened: Callable[[str], Opened]):
    one = opened("01")
    one.save(CUDA)
    assert CUDA in drawing.top(one.session.loop, 80).plain
    one.session.press("e")
    assert one.edited == [CUDA]
    one.session.press("x")
    assert f"RESET {CUDA}" in drawing.bottom(one.session.loop, 80, 0.0).plain
    one.session.press("y")
    (backup,) = one.session.loop.exercise.root.glob(".grader/backups/*/*")
    assert backup.name.startswith("kernel_cuda-")


def test_a_loop_begins_with_the_file_that_was_worked_on(
    course: Path, opened: Callable[[str], Opened]
):
    (course / "exercises/01_vector_add" / CUDA).write_text("# begun\n", encoding="utf-8")
    assert opened("01").graded == [CUDA]


def test_a_loop_begins_with_the_file_that_was_named(course: Path, opened: Callable[[str], Opened]):
    """It took the folder of that file, and there the file that was worked on: another one."""
    folder = course / "exercises/01_vector_add"
    (folder / TRITON).write_text("# begun\n", encoding="utf-8")
    one = opened(str(folder / CUDA))
    assert (one.session.loop.exercise.file, one.graded) == (CUDA, [CUDA])
    one.save(TRITON)
    assert one.graded == [CUDA, TRITON]


def test_a_line_that_names_a_file_turns_to_it(course: Path, opened: Callable[[str], Opened]):
    one = opened("01")
    front = plain.Plain()
    front._typed(one.session, str(course / "exercises/01_vector_add" / CUDA))
    front._typed(one.session, "01")
    assert one.graded == [TRITON, CUDA]
    assert one.session.loop.exercise.file == CUDA


def test_the_check_of_all_takes_the_file_that_was_worked_on(
    course: Path, opened: Callable[[str], Opened]
):
    one = opened("p01")
    one.graded.clear()
    (course / "exercises/01_vector_add" / CUDA).write_text("# begun\n", encoding="utf-8")
    one.session.press("c")
    run = one.session.loop.run
    one.session.happen(lambda loop: transitions.over(loop, run.number))
    one.session.happen(lambda loop: transitions.over(loop, loop.run.number))
    assert one.graded[-1] == CUDA


def test_a_key_turns_to_the_other_file(opened: Callable[[str], Opened]):
    one = opened("01")
    one.session.press("t")
    one.session.press("t")
    assert one.graded == [TRITON, CUDA, TRITON]
    single = opened("p01")
    single.session.press("t")
    assert single.session.loop.note == "p01_map has one kernel file, kernel.py."
    assert single.graded == [TRITON]


def test_only_a_measurement_compiles_for_other_gpus(opened: Callable[[str], Opened]):
    """They cost a save of 07 or 15 an eighth of its time."""
    one = opened("01")
    one.save(TRITON)
    one.session.press("b")
    assert [asked.elsewhere for asked in one.asked] == [False, False, True]
    assert [asked.require_speed for asked in one.asked] == [False, False, True]
