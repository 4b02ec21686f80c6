"""The results of a learner's checks are kept for the pages that show them."""

from __future__ import annotations

from pathlib import Path

import pytest
from reported import PASSED, ended, noisy, step, wrong
from traces import missing_guard

from grader.course import history, progress
from grader.model.outcomes import Outcome, Status

NAME = PASSED.exercise
FAILED = wrong("out[3] is 1, and 2 is right", exercise=NAME)
PICTURE = missing_guard().model_copy(update={"exercise": NAME})


def files(state: Path) -> list[Path]:
    return sorted((state / "results" / NAME).iterdir())


def test_nothing_is_kept_at_first_and_reading_makes_no_file(tmp_path: Path):
    assert history.read(tmp_path, NAME) == history.History()
    assert list(tmp_path.iterdir()) == []


def test_results_are_read_oldest_first(tmp_path: Path):
    for one in (FAILED, PASSED, FAILED):
        history.keep(tmp_path, one)
    assert history.read(tmp_path, NAME).results == (FAILED, PASSED, FAILED)
    assert history.read(tmp_path, NAME, most=2).results == (PASSED, FAILED)


def test_only_the_newest_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(history, "MOST_KEPT", 3)
    for seed in range(5):
        history.keep(tmp_path, PASSED.model_copy(update={"seed": seed}))
    assert [one.seed for one in history.read(tmp_path, NAME).results] == [2, 3, 4]
    assert len(files(tmp_path)) == 3


def test_a_picture_belongs_to_the_last_result_alone(tmp_path: Path):
    """A picture beside a later check would show a fault that is no longer there."""
    history.keep(tmp_path, FAILED)
    history.keep_picture(tmp_path, PICTURE)
    assert history.read(tmp_path, NAME).picture == PICTURE
    history.keep(tmp_path, PASSED)
    assert history.read(tmp_path, NAME).picture is None
    assert len(files(tmp_path)) == 2


def test_a_picture_without_a_result_is_dropped(tmp_path: Path):
    history.keep_picture(tmp_path, PICTURE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"schema": "grader/result/v2"}'])
def test_a_file_that_is_no_result_is_counted_and_hides_no_other(tmp_path: Path, content: bytes):
    history.keep(tmp_path, PASSED)
    (tmp_path / "results" / NAME / "20200101-aaaa.json").write_bytes(content)
    found = history.read(tmp_path, NAME)
    assert (found.results, found.unreadable) == ((PASSED,), 1)


def test_entries_of_one_file_share_a_history(tmp_path: Path):
    history.keep(tmp_path, PASSED.model_copy(update={"exercise": f"{NAME}:backward"}))
    assert len(history.read(tmp_path, NAME).results) == 1


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        (FAILED, True),
        (PASSED, True),
        (ended(Status.NOT_STARTED, step("correctness", Outcome.NOT_STARTED)), True),
        (noisy(), False),
        (ended(Status.ERROR), False),
        (ended(Status.INTERRUPTED), False),
    ],
    ids=lambda one: str(getattr(one, "status", one)),
)
def test_what_is_remembered_of_a_kernel_is_kept(tmp_path: Path, result, kept: bool):
    progress.record(tmp_path, result)
    assert bool(history.read(tmp_path / progress.STATE, NAME).results) == kept


def test_a_folder_that_cannot_be_written_loses_no_verdict(tmp_path: Path):
    (tmp_path / progress.STATE).mkdir()
    (tmp_path / progress.STATE / "results").write_text("a file where the folder should be")
    assert progress.record(tmp_path, PASSED).standings[NAME].passed
