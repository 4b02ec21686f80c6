"""`grader reset` writes the stub, and loses nothing of what a learner wrote."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from grader.course import backups, catalog, stubs
from grader.course.exercise import Exercise
from grader.model.errors import UsageError

SMALL = Path(__file__).parents[1] / "courses" / "small"


@pytest.fixture
def exercise(tmp_path: Path) -> Exercise:
    root = Path(shutil.copytree(SMALL, tmp_path / "course"))
    return catalog.find(root, "01_double")


def test_the_stub_is_written_and_the_file_kept(exercise: Exercise):
    exercise.kernel.write_bytes(b"mine \xff\n")
    done = backups.reset(exercise)
    assert done.written
    assert done.backup is not None
    assert done.backup.is_relative_to(exercise.root / ".grader" / "backups" / "01_double")
    assert done.backup.read_bytes() == b"mine \xff\n"
    assert exercise.kernel.read_text() == stubs.stub_of(exercise)


def test_an_untouched_file_needs_no_backup(exercise: Exercise):
    assert backups.reset(exercise) == backups.Reset(written=False)
    assert not (exercise.root / ".grader").exists()


def test_a_missing_file_is_written(exercise: Exercise):
    exercise.kernel.unlink()
    assert backups.reset(exercise) == backups.Reset(written=True)
    assert exercise.kernel.is_file()


def test_two_resets_in_one_second_keep_both_files(exercise: Exercise):
    kept = set()
    for text in ("first", "second", "third"):
        exercise.kernel.write_text(text)
        backup = backups.reset(exercise).backup
        assert backup is not None
        kept.add(backup)
    assert {path.read_text() for path in kept} == {"first", "second", "third"}


def test_what_is_no_file_is_left_where_it_is(exercise: Exercise):
    exercise.kernel.unlink()
    os.mkfifo(exercise.kernel)
    with pytest.raises(UsageError, match="is not a file") as raised:
        backups.reset(exercise)
    assert raised.value.next_step.startswith("Move it away")
    assert exercise.kernel.is_fifo()


def test_without_a_place_for_the_backup_the_file_stays(exercise: Exercise):
    exercise.kernel.write_text("mine")
    (exercise.root / ".grader").write_text("")
    with pytest.raises(UsageError, match="01_double was not reset"):
        backups.reset(exercise)
    assert exercise.kernel.read_text() == "mine"
