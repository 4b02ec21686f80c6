"""A learner's progress survives several commands at once, and a kill at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from reported import PASSED, SPEED, ended, step

from grader.course import catalog, progress
from grader.course.exercise import Exercise
from grader.course.progress import Progress, Standing
from grader.model.outcomes import Outcome, Status
from grader.model.results import Result

SMALL = Path(__file__).parents[1] / "courses" / "small"
NAME = PASSED.exercise
FAILED = ended(Status.FAIL, step("load", Outcome.PASS), step("correctness", Outcome.FAIL))
STUB = ended(Status.NOT_STARTED, step("correctness", Outcome.NOT_STARTED))
# Writes two hints for ever, each of an exercise of its own, and says so after each.
WRITER = """
import sys
from pathlib import Path
from grader.course import progress
number = 0
while True:
    number += 1
    progress.hint_shown(Path(sys.argv[1]), sys.argv[2])
    print(number, flush=True)
"""


def changed(result: Result, **changes: object) -> Result:
    return result.model_copy(update=changes)


def timed(share: float, outcome: Outcome) -> Result:
    speed = step("speed", outcome, speed=SPEED.model_copy(update={"share": share}))
    return changed(PASSED, steps=(*PASSED.steps[:-1], speed))


def stored(root: Path) -> Path:
    return root / progress.STATE / progress.FILE


def test_a_course_without_the_file_has_no_progress_and_gets_no_file(tmp_path: Path):
    assert progress.read(tmp_path) == Progress()
    assert list(tmp_path.iterdir()) == []


def test_a_pass_is_remembered_with_its_points_and_time(tmp_path: Path):
    made = progress.record(tmp_path, PASSED)
    assert progress.read(tmp_path) == made
    one = made.standings[NAME]
    assert (one.passed, one.points, one.of, one.best_share) == (True, 7, 10, None)
    assert one.passed_at == one.checked_at
    assert one.digest == PASSED.kernel.sha256
    assert progress.mark(one) == "✔"


def test_a_failure_after_a_pass_takes_nothing_away(tmp_path: Path):
    """A learner who tries for more speed breaks the kernel for a while."""
    before = progress.record(tmp_path, PASSED).standings[NAME]
    after = progress.record(tmp_path, FAILED).standings[NAME]
    assert replace(after, checked_at=before.checked_at, digest=before.digest) == before
    assert after.digest == FAILED.kernel.sha256


def test_points_of_another_scale_replace_the_earlier_ones(tmp_path: Path):
    """An update of the course may give an exercise other points: 7 of 10 are not 7 of 5."""
    progress.record(tmp_path, PASSED)
    one = progress.record(tmp_path, changed(FAILED, points=2, max_points=5)).standings[NAME]
    assert (one.points, one.of) == (2, 5)


def test_the_best_share_is_kept(tmp_path: Path):
    for share, outcome in ((0.5, Outcome.FAIL), (0.9, Outcome.PASS), (0.7, Outcome.PASS)):
        made = progress.record(tmp_path, timed(share, outcome))
    assert made.standings[NAME].best_share == 0.9


def test_a_disturbed_measurement_is_no_best_share(tmp_path: Path):
    assert progress.record(tmp_path, timed(0.9, Outcome.NOISY)).standings[NAME].best_share is None


def test_a_stub_that_was_checked_is_not_begun(tmp_path: Path):
    one = progress.record(tmp_path, STUB).standings[NAME]
    assert progress.mark(one) == "○"
    assert progress.mark(progress.record(tmp_path, FAILED).standings[NAME]) == "●"


@pytest.mark.parametrize("status", sorted(set(Status) - set(progress.GRADED)))
def test_what_says_nothing_about_the_kernel_changes_nothing(status: Status, tmp_path: Path):
    assert progress.record(tmp_path, changed(PASSED, status=status)) == Progress()
    assert list(tmp_path.iterdir()) == []


def test_one_of_several_entries_does_not_finish_an_exercise(tmp_path: Path):
    one = progress.record(tmp_path, changed(PASSED, exercise=f"{NAME}:forward"))
    assert set(one.standings) == {NAME}
    assert (one.standings[NAME].passed, one.standings[NAME].points) == (False, 0)
    assert progress.mark(one.standings[NAME]) == "●"


def test_hints_and_the_current_exercise_are_remembered(tmp_path: Path):
    progress.choose(tmp_path, NAME)
    progress.hint_shown(tmp_path, NAME)
    progress.hint_shown(tmp_path, NAME)
    made = progress.record(tmp_path, PASSED)
    assert (made.current, made.standings[NAME].hints) == (NAME, 2)


def test_beginning_again_keeps_only_the_hints(tmp_path: Path):
    progress.hint_shown(tmp_path, NAME)
    progress.record(tmp_path, PASSED)
    progress.begin_again(tmp_path, NAME)
    assert progress.read(tmp_path).standings[NAME] == Standing(hints=1)


def test_the_first_unfinished_exercise_follows(tmp_path: Path):
    first, second, *others = catalog.exercises(SMALL)
    done = Standing(passed=True)
    assert progress.following([first, second], Progress()) == first
    assert progress.following([first, second], Progress(standings={first.name: done})) == second
    skipped = {second.name: Standing(passed=True, passed_at="2026-11-01T10:00:00Z")}
    assert progress.following([first, second, *others], Progress(standings=skipped)) == others[0]
    assert progress.following([first, second], Progress(standings=skipped)) == first
    every = {one.name: done for one in (first, second, *others)}
    assert progress.following([first, second, *others], Progress(standings=every)) is None


def test_behind_an_exercise_follows_the_next_unfinished_one_and_else_the_first():
    first, second, third = catalog.exercises(SMALL)
    assert progress.following_on(first, Progress()) == second
    assert progress.following_on(third, Progress()) == first
    assert progress.following_on(Exercise(SMALL / "exercises" / "99"), Progress()) == first
    done = Progress(standings={second.name: Standing(passed=True)})
    assert progress.following_on(first, done) == third
    assert progress.following_on(replace(first, entry="copy"), done) == third
    only_itself = {one.name: Standing(passed=True) for one in (second, third)}
    assert progress.following_on(first, Progress(standings=only_itself)) is None


def test_git_ignores_the_folder(tmp_path: Path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    progress.hint_shown(tmp_path, NAME)
    status = ["git", "-C", tmp_path, "status", "--porcelain"]
    assert subprocess.run(status, check=True, capture_output=True).stdout == b""


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b"[]",
        b'{"schema": "grader/progress/v2", "current": null, "standings": {}}',
        b'{"schema": "grader/progress/v1", "current": 5, "standings": {}}',
        b'{"schema": "grader/progress/v1", "current": "\\ud800", "standings": {}}',
        b'{"schema": "grader/progress/v1", "current": null, "standings": {"\\ud800": {}}}',
        b'{"schema": "grader/progress/v1", "current": null, "standings": []}',
        b'{"schema": "grader/progress/v1", "current": null, "standings": {"a": 1}}',
        b'{"schema": "grader/progress/v1", "current": null, "standings": {"a": {"points": "7"}}}',
        b'{"schema": "grader/progress/v1", "current": null, "standings": {"a": {"passed": 1}}}',
        b" " * (progress.LARGEST + 1),
    ],
)
def test_an_unreadable_file_is_set_aside_with_a_notice(content: bytes, tmp_path: Path):
    progress.hint_shown(tmp_path, NAME)
    stored(tmp_path).write_bytes(content)
    read = progress.read(tmp_path)
    assert read.standings == {}
    assert "progress-unreadable-1.json" in read.notice
    assert (stored(tmp_path).parent / "progress-unreadable-1.json").read_bytes() == content
    assert progress.read(tmp_path) == Progress(), "the notice comes once"


def test_a_change_sets_an_unreadable_file_aside_too(tmp_path: Path):
    progress.hint_shown(tmp_path, NAME)
    for number in (1, 2):
        stored(tmp_path).write_text("no JSON")
        made = progress.hint_shown(tmp_path, NAME)
        assert f"progress-unreadable-{number}.json" in made.notice
        assert made.standings[NAME].hints == 1


def test_a_pipe_in_place_of_the_file_does_not_hang(tmp_path: Path):
    (tmp_path / progress.STATE).mkdir()
    os.mkfifo(stored(tmp_path))
    assert "it is not a file" in progress.read(tmp_path).notice


def test_fields_of_a_newer_grader_are_ignored(tmp_path: Path):
    progress.record(tmp_path, PASSED)
    content = json.loads(stored(tmp_path).read_bytes())
    content["standings"][NAME]["streak"] = 3
    content["theme"] = "dark"
    stored(tmp_path).write_text(json.dumps(content))
    assert progress.read(tmp_path).standings[NAME].points == 7


def test_a_file_in_place_of_the_folder_gives_a_notice(tmp_path: Path):
    """A check never ends over its progress."""
    (tmp_path / progress.STATE).write_text("")
    made = progress.record(tmp_path, PASSED)
    assert made.standings[NAME].passed
    assert "cannot be written" in made.notice


def test_changes_at_once_lose_nothing(tmp_path: Path):
    with ThreadPoolExecutor(8) as threads:
        names = [f"{number:02}_exercise" for number in range(8)] * 5
        list(threads.map(lambda name: progress.hint_shown(tmp_path, name), names))
    counts = {name: one.hints for name, one in progress.read(tmp_path).standings.items()}
    assert counts == dict.fromkeys(sorted(names), 5)


@pytest.mark.slow
def test_processes_killed_at_random_lose_nothing(tmp_path: Path):
    """Two writers at once, one of them killed: what either reported as written stays written."""
    draw = random.Random(30)
    reported = {"one": 0, "other": 0}
    for _ in range(10):
        writers = {
            name: subprocess.Popen(
                [sys.executable, "-c", WRITER, tmp_path, name],
                stdout=subprocess.PIPE,
                text=True,
            )
            for name in reported
        }
        for writer in writers.values():
            assert writer.stdout is not None
            writer.stdout.readline()
        time.sleep(draw.random() / 20)
        for name, writer in writers.items():
            writer.send_signal(signal.SIGKILL)
            written = 1 + len(writer.communicate()[0].splitlines())
            read = progress.read(tmp_path)
            hints = read.standings[name].hints
            assert read.notice == ""
            assert hints - reported[name] in (written, written + 1)  # killed before it said so
            reported[name] = hints
