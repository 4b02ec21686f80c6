"""A folder of a killed judge is removed, and what worked there ends: with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_until

WORK = """
import sys
from pathlib import Path
from grader.worker.abandoned import remove_if_abandoned
remove_if_abandoned(Path(sys.argv[1]), "jobs")
print("works", flush=True)
sys.stdin.read()
"""
# It stands for the judge: it starts the work and waits.
JUDGE = """
import subprocess, sys
work = subprocess.Popen([sys.executable, "-c", *sys.argv[1:]], stdin=subprocess.PIPE)
print(work.pid, flush=True)
work.wait()
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "private" / "home"
    made.mkdir(parents=True)
    made.with_name("root").mkdir()
    return made


def test_a_killed_judge_leaves_no_folder_and_no_process(home: Path):
    command = [sys.executable, "-c", JUDGE, WORK, str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as judge:
        assert judge.stdout is not None
        started, works = int(judge.stdout.readline()), judge.stdout.readline()
        assert (works, home.exists()) == ("works\n", True)
        judge.send_signal(signal.SIGKILL)
    wait_until(lambda: not home.parent.exists())
    wait_until(lambda: not Path(f"/proc/{started}").exists() or _is_dead(started))


# The signal of the judge's death comes when the work has just ended, too.
AT_ONCE = """
import os
wait = os.waitpid

def wait_and_be_told(child, options):
    wait(child, options)
    raise SystemExit

os.waitpid = wait_and_be_told
"""


def test_a_folder_is_removed_when_judge_and_work_end_at_once(home: Path):
    command = [sys.executable, "-c", AT_ONCE + WORK, str(home)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    assert (done.returncode, done.stderr, home.parent.exists()) == (os.EX_OK, b"", False)


def _is_dead(pid: int) -> bool:
    """Report whether a process only waits to be reaped, by whatever adopted it."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize("given", [False, True], ids=["without its work", "with it"])
def test_a_judge_that_lives_removes_what_it_gave_itself(home: Path, given: bool):
    """Work that ends without any had a judge that is gone, so that nobody would remove it."""
    if given:
        (home / "jobs").touch()
    done = subprocess.run(
        [sys.executable, "-c", WORK, str(home)], stdin=subprocess.DEVNULL, capture_output=True
    )
    assert (done.returncode, done.stdout) == (os.EX_OK, b"works\n")
    assert home.exists() == given


def test_nothing_but_the_home_is_removed(home: Path):
    """Tests and tools give a compiler a folder of their own: a neighbour is not its to remove."""
    neighbour = home.with_name("neighbour")
    neighbour.touch()
    subprocess.run([sys.executable, "-c", WORK, str(home)], stdin=subprocess.DEVNULL, check=True)
    assert (home.exists(), neighbour.exists()) == (False, True)
