"""`grader grade` with real workers and judges: a class, interruptions, and what comes next.

A worker with its judge takes seconds of a core to start: a test has two where it is about two.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import class_runs
import pytest
import small_disk

from grader.classroom import ClassOrder, Graded
from grader.cli import grade as command_line
from grader.course import catalog
from grader.model import ClassRun, parse_class

pytestmark = pytest.mark.slow

TOY = Path(__file__).parents[1] / "courses/toy"
SOLUTION = TOY / "solutions/p01_double"
PLACE = "puzzles/p01_double/kernel.py"
PATIENCE_S = 300


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "grader.cli", *map(str, arguments)]


def ran(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=TOY, capture_output=True, text=True, timeout=PATIENCE_S
    )


def hand_in(folder: Path, logins: list[str], kernel: Path) -> None:
    for login in logins:
        path = folder / "submissions" / login / PLACE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{kernel.read_text(encoding='utf-8')}\n# {login}\n", encoding="utf-8")


def a_class(folder: Path) -> list[object]:
    """Make a class of five, and return the arguments of the command that grades it."""
    hand_in(folder, ["ada", "bob"], SOLUTION / "kernel.py")
    hand_in(folder, ["cyd"], SOLUTION / "wrong_last.py")
    (folder / "submissions/dan/puzzles/p01_double").mkdir(parents=True, exist_ok=True)
    (folder / "submissions/dan/puzzles/p01_double/notes.txt").touch()
    return order(folder, "ada", "bob", "cyd", "dan", "eve")


def order(folder: Path, *logins: str) -> list[object]:
    rows = ["login,name", *(f"{login},{login.title()}" for login in logins)]
    (folder / "roster.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    named = ["--roster", folder / "roster.csv", "--out", folder / "out"]
    return ["grade", folder / "submissions", *named]


def record(folder: Path, out: str = "out") -> ClassRun:
    return parse_class((folder / out / "class.json").read_bytes(), "class.json")


def results(out: Path) -> dict[str, bytes]:
    """Return the files of results by their names."""
    return {path.name: path.read_bytes() for path in (out / "results").glob("*.json")}


def standings(folder: Path, out: str = "out") -> dict[str, tuple[str, int | None]]:
    run = record(folder, out)
    return {row.student: (row.standing, row.cells[0].points) for row in run.rows}


EXPECTED = {
    "ada": ("graded", 6),
    "bob": ("graded", 6),
    "cyd": ("graded", 0),
    "dan": ("not_started", 0),
    "eve": ("missing", None),
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory):
    """Grade one student of a class; return what was said, and how all stood then."""
    folder = tmp_path_factory.mktemp("class")
    done = ran(*a_class(folder), "--jobs", "1", "--students", "ada")
    return folder, done, standings(folder)


@pytest.fixture(scope="module")
def graded(begun):
    """Grade the others of that class, once for all tests that only look at it."""
    folder, _, _ = begun
    return folder, ran(*a_class(folder), "--jobs", "1", "--resume")


def test_one_student_of_a_class_may_be_graded_first(begun):
    _, done, standing = begun
    assert done.returncode == 0, done.stderr
    assert "2 of 3 kernels are not to be graded now" in done.stderr
    assert "--resume and without a choice: it grades the others" in done.stderr
    assert standing["ada"] == EXPECTED["ada"]
    assert standing["bob"] == ("not_graded", None)


def test_every_student_has_one_row(graded):
    folder, done = graded
    assert done.returncode == 0, done.stderr
    assert standings(folder) == EXPECTED
    assert record(folder).complete


def test_the_end_is_a_table_and_the_next_command(graded, snapshot):
    folder, done = graded
    assert done.stdout == snapshot
    assert f"next: grader export csv-wide {folder}/out --out grades.csv" in done.stderr
    assert f"watch it in a browser: {folder}/out/progress.html" in done.stderr
    assert "The run is over." in (folder / "out/progress.html").read_text(encoding="utf-8")


def test_its_attempts_are_what_export_and_the_board_read(graded):
    folder, _ = graded
    table = ran("export", "csv-wide", folder / "out/attempts")
    assert [line.split(",")[:2] for line in table.stdout.splitlines()] == [
        ["student", "p01_double"],
        ["ada", "6"],
        ["bob", "6"],
        ["cyd", "0"],
        ["dan", "0"],
    ]
    assert table.returncode == 0, table.stderr


def test_a_result_names_no_path_of_the_machine_that_graded(graded):
    folder, _ = graded
    for path in (folder / "out/attempts").iterdir():
        attempt = json.loads(path.read_text(encoding="utf-8"))
        assert attempt["result"]["kernel"]["path"] == PLACE
        assert "/tmp" not in json.dumps(attempt["result"])


def test_an_earlier_run_is_not_overwritten(graded):
    folder, _ = graded
    before = (folder / "out/class.json").read_bytes()
    done = ran(*a_class(folder))
    assert done.returncode == 2
    assert "--resume" in done.stderr
    assert "browser" not in done.stderr, "no page is named that is not there"
    assert (folder / "out/class.json").read_bytes() == before


def test_a_run_that_ends_before_it_has_workers_hides_nothing(graded):
    folder, _ = graded
    before = record(folder)
    done = ran(*a_class(folder), "--resume", "--scheduler", "nowhere://x")
    assert done.returncode == 3, done.stderr
    assert record(folder).rows == before.rows
    assert len(list((folder / "out/attempts").iterdir())) == 4


@pytest.fixture(scope="module")
def regraded(graded):
    """Grade what changed again, and kill the judge while it starts, which takes longest."""
    # The tests above look at this class as it was: those of this fixture come last.
    folder, _ = graded
    hand_in(folder, ["cyd"], SOLUTION / "kernel.py")
    with started("regrade", folder / "out", "--changed", "--jobs", "1") as run:
        os.kill(wait_for_judge(run), signal.SIGKILL)
        shown, said = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, said
    return folder, shown, said


def test_what_changed_is_graded_again_and_shown(regraded, snapshot):
    folder, shown, said = regraded
    assert "1 kernel in" in said
    assert shown == snapshot
    assert standings(folder) == EXPECTED | {"cyd": ("graded", 6)}


def test_a_judge_that_is_killed_is_no_zero(regraded):
    """Its kernel is graded again."""
    folder, _, said = regraded
    assert "exit status -9" in said
    assert standings(folder)["cyd"] == ("graded", 6)


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start a run, and kill it if it has not ended by the end."""
    with subprocess.Popen(
        command(*arguments),
        cwd=TOY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        try:
            yield run
        finally:
            run.kill()


def wait_for_result(run: subprocess.Popen[str], folder: Path, before: int = 0) -> dict[str, bytes]:
    """Return the results on the disk, as soon as there are more than before."""
    end = time.monotonic() + PATIENCE_S
    while run.poll() is None and time.monotonic() < end:
        if len(found := results(folder / "out")) > before:
            return found
        time.sleep(0.02)
    raise AssertionError("nothing was graded")


def below(pid: int) -> list[int]:
    """List the processes below one, deepest last."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
    found, latest = [], {pid}
    while latest:
        latest = {child for child, parent in parents.items() if parent in latest}
        found += sorted(latest)
    return found


@dataclass(frozen=True)
class Ended:
    """A class run that was interrupted, went on, was killed, and went on to its end."""

    folder: Path
    code: int  # of the interrupted run, and what it said
    said: str
    complete: bool  # when it was interrupted
    at_interruption: dict[str, bytes]  # results that were there
    at_kill: dict[str, bytes]
    last_code: int


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    folder = tmp_path_factory.mktemp("ended")
    arguments = [*a_class(folder), "--jobs", "1"]
    with started(*arguments) as run:
        at_interruption = wait_for_result(run, folder)
        # SIGTERM is what a batch system sends first, and what the command makes a Ctrl-C of.
        run.send_signal(signal.SIGTERM)
        _, said = run.communicate(timeout=PATIENCE_S)
    complete, kept = record(folder).complete, results(folder / "out")
    with started(*arguments, "--resume") as again:
        at_kill = wait_for_result(again, folder, len(kept))
        again.send_signal(signal.SIGSTOP)
        for pid in [again.pid, *below(again.pid)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # It returns when nobody is left who could write to it.
        again.communicate(timeout=PATIENCE_S)
    last = ran(*arguments, "--resume")
    return Ended(folder, run.returncode, said, complete, at_interruption, at_kill, last.returncode)


def test_an_interrupted_run_says_how_to_go_on_and_goes_on(ended: Ended):
    assert ended.code == 130, ended.said
    assert ended.said.rstrip().endswith("--jobs 1 --resume")
    assert "Traceback" not in ended.said
    assert not ended.complete
    assert ended.at_interruption.items() <= ended.at_kill.items()
    assert len(ended.at_interruption) < len(ended.at_kill), "it went on"


def test_a_tree_that_is_killed_loses_nothing_and_leaves_nobody(ended: Ended):
    """SIGKILL, to all at once: what was graded stays, and is not graded again."""
    assert ended.last_code == 0
    assert record(ended.folder).complete
    assert standings(ended.folder) == EXPECTED
    now = results(ended.folder / "out")
    assert ended.at_kill.items() <= now.items()
    assert len(now) == 3


def test_a_disk_that_fills_up_ends_the_run_and_loses_nothing(tmp_path: Path):
    """The disk is real: a small file system of the run's own."""
    arguments = [*a_class(tmp_path), "--jobs", "1"]
    (tmp_path / "out").mkdir()
    done = subprocess.run(
        [sys.executable, small_disk.__file__, tmp_path / "out", tmp_path, *command(*arguments)],
        cwd=TOY,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
    )
    if done.returncode == small_disk.NO_DISK:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    full, whole = said["said"]
    assert said["codes"] == [3, 0], full + whole
    *_, error, then = full.splitlines()
    assert error.startswith("error: The results cannot be written to ")
    assert error.endswith("No space left on device.")
    assert then == (
        "next: Make room there; then go on with --resume: what was graded before is kept."
    )
    assert "Traceback" not in full
    assert not record(tmp_path, "full").complete
    kept, now = (results(tmp_path / name) for name in ("full", "done"))
    assert kept.items() <= now.items()
    assert 0 < len(kept) < len(now) == 3
    assert standings(tmp_path, "done") == EXPECTED


@pytest.mark.parametrize(("kept", "code"), [((), 0), ((("ada", "no memory"),), 3)])
def test_a_regrade_that_left_points_as_they_were_is_no_success(kept: tuple, code: int):
    here = Path()
    order = ClassOrder(here, here, here, tuple(catalog.exercises(TOY)))
    assert command_line._report(order, Graded(class_runs.run(), kept)) == code


def wait_for_judge(run: subprocess.Popen[str]) -> int:
    """Return the process of the first judge below a run."""
    end = time.monotonic() + PATIENCE_S
    while run.poll() is None and time.monotonic() < end:
        for pid in below(run.pid):
            if "grader.grading.judge" in command_of(pid):
                return pid
        time.sleep(0.1)  # to look at all processes takes milliseconds
    raise AssertionError("no judge was started")


def command_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""
