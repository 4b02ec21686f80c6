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
from contextlib import suppress
from pathlib import Path

import pytest
import small_disk

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
def graded(tmp_path_factory: pytest.TempPathFactory):
    """Grade a class once for all tests that only look at it."""
    folder = tmp_path_factory.mktemp("class")
    return folder, ran(*a_class(folder), "--jobs", "1")


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


def test_what_changed_is_graded_again_and_shown(graded, snapshot):
    # The last test that uses this class: it changes it.
    folder, _ = graded
    hand_in(folder, ["cyd"], SOLUTION / "kernel.py")
    done = ran("regrade", folder / "out", "--changed", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert "1 kernel in" in done.stderr
    assert done.stdout == snapshot
    assert standings(folder) == EXPECTED | {"cyd": ("graded", 6)}


def started(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments),
        cwd=TOY,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_result(run: subprocess.Popen[str], folder: Path) -> dict[str, bytes]:
    """Return the first results on the disk."""
    end = time.monotonic() + PATIENCE_S
    while run.poll() is None and time.monotonic() < end:
        if found := results(folder / "out"):
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


def test_an_interrupted_run_says_how_to_go_on_and_goes_on(tmp_path: Path):
    # SIGTERM is what a batch system sends first, and what the command makes a Ctrl-C of.
    arguments = [*a_class(tmp_path), "--jobs", "1"]
    run = started(*arguments)
    kept = wait_for_result(run, tmp_path)
    run.send_signal(signal.SIGTERM)
    _, said = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 130, said
    assert said.rstrip().endswith("--jobs 1 --resume")
    assert "Traceback" not in said
    assert not record(tmp_path).complete
    assert ran(*arguments, "--resume").returncode == 0
    assert standings(tmp_path) == EXPECTED
    now = results(tmp_path / "out")
    assert kept.items() <= now.items()
    assert len(now) == 3


def test_a_tree_that_is_killed_loses_nothing_and_leaves_nobody(tmp_path: Path):
    """SIGKILL, to all at once: what was graded stays, and is not graded again."""
    arguments = a_class(tmp_path)
    run = started(*arguments, "--jobs", "2")
    kept = wait_for_result(run, tmp_path)
    run.send_signal(signal.SIGSTOP)
    for pid in [run.pid, *below(run.pid)]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    run.communicate(timeout=PATIENCE_S)
    assert ran(*arguments, "--jobs", "1", "--resume").returncode == 0
    assert standings(tmp_path) == EXPECTED
    now = results(tmp_path / "out")
    assert kept.items() <= now.items()
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


def test_one_student_of_a_class_may_be_graded_first(tmp_path: Path):
    done = ran(*a_class(tmp_path), "--jobs", "1", "--students", "ada")
    assert done.returncode == 0, done.stderr
    assert "2 of 3 kernels are not to be graded now" in done.stderr
    assert "--resume and without a choice: it grades the others" in done.stderr
    assert standings(tmp_path)["bob"] == ("not_graded", None)


def test_a_judge_that_is_killed_is_no_zero(tmp_path: Path):
    """A judge that is killed while it starts, which takes longest: its kernel is graded again."""
    hand_in(tmp_path, ["ada"], SOLUTION / "kernel.py")
    run = started(*order(tmp_path, "ada"), "--jobs", "1")
    os.kill(wait_for_judge(run), signal.SIGKILL)
    _, said = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, said
    assert "exit status -9" in said
    assert standings(tmp_path) == {"ada": EXPECTED["ada"]}


def wait_for_judge(run: subprocess.Popen[str]) -> int:
    """Return the process of the first judge below a run."""
    end = time.monotonic() + PATIENCE_S
    while run.poll() is None and time.monotonic() < end:
        for pid in below(run.pid):
            if "grader.grading.judge" in command_of(pid):
                return pid
        time.sleep(0.02)
    raise AssertionError("no judge was started")


def command_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""
