"""Commands in processes whose streams, folder, limits or arguments are out of the ordinary.

Each ends with two lines, what is wrong and what to do next, and with the exit code that says whose
fault it is; none with a traceback.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.machine.limits import ADDRESSES, FILES

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[1]
COURSE = TESTS / "courses" / "bad"
GRADER = f"{sys.executable} -m grader.cli"
CHECK = [sys.executable, "-m", "grader.cli", "check", "01_copy", "--device", "cpu"]
RIGHT = TESTS / "bad" / "copies.py"
# Two thirds of the time of a check of 01_copy: its worker imports no Triton. For tests of streams.
TOY = TESTS / "courses" / "toy"
QUICK = f"p01_double --kernel {TOY}/solutions/p01_double/kernel.py --device cpu --json"
ENVIRONMENT = os.environ | {"GRADER_COURSE": str(COURSE)}
ENVIRONMENT.pop("PYTHONUNBUFFERED", None)  # what cannot be written stays in the buffers, as usual


def shell(command: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command],
        env=ENVIRONMENT,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def two_lines(done: subprocess.CompletedProcess[str]) -> str:
    """Return the error of a command that printed it, its next step, and hardly anything else."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("grading ")]
    assert [line.partition(":")[0] for line in lines] == ["error", "next"], done.stderr
    return lines[0]


# -- streams


@pytest.mark.parametrize("command", ["list", "--help"])
def test_a_full_disk_is_no_fault_of_the_grader(command: str):
    done = shell(f"{GRADER} {command} > /dev/full")
    assert done.returncode == 3
    assert "the disk is full" in two_lines(done)


def test_a_verdict_that_cannot_be_written_is_none():
    done = shell(f"GRADER_COURSE={TOY} {GRADER} check {QUICK} > /dev/full")
    assert done.returncode == 3
    assert "the disk is full" in two_lines(done)


def test_a_report_that_nobody_would_get_is_not_made():
    done = shell(f"{GRADER} check 01_copy --kernel {RIGHT} --device cpu >&-")
    assert done.returncode == 2
    assert "Standard output is closed" in two_lines(done)
    assert "grading" not in done.stderr


@pytest.mark.parametrize("stderr", ["2>&-", "2> /dev/full"])
def test_the_result_does_not_depend_on_standard_error(stderr: str):
    done = shell(f"{GRADER} list {stderr}")
    assert done.returncode == 0
    assert "01_copy" in done.stdout
    assert shell(f"{GRADER} check nothing {stderr}").returncode == 2


def test_closed_streams_do_not_end_up_in_the_judge():
    """A pipe that got the number of standard output would get what is printed there."""
    done = shell(f"GRADER_COURSE={TOY} {GRADER} check {QUICK} <&- 2>&-")
    assert done.returncode == 0
    assert done.stdout.startswith("{")


# -- folders and files


def test_a_deleted_working_directory_is_named(tmp_path: Path):
    (tmp_path / "gone").mkdir()
    for command in ("list", "check 01_copy"):
        done = shell(f"mkdir -p gone && cd gone && rmdir ../gone && {GRADER} {command}", tmp_path)
        assert done.returncode == 2
        assert "has been deleted" in two_lines(done)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        (b"k\xff.py", "is not UTF-8"),
        (b"k\nPASS  10 points.py", "control characters"),
        (b"k\x1b[2J.py", "control characters"),
        (b"a" * 250 + b"/" + b"a" * 5000 + b".py", "File name too long"),
    ],
    ids=["not UTF-8", "a new line", "an escape", "5,000 characters"],
)
def test_a_path_that_no_report_could_show_is_refused(tmp_path: Path, name: bytes, wrong: str):
    kernel = os.fsencode(tmp_path) + b"/" + name
    if len(name) < 250:
        Path(os.fsdecode(kernel)).touch()
    done = subprocess.run(
        [*CHECK, "--kernel", kernel], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert wrong in two_lines(done)
    assert len(done.stderr) < 1000


# -- limits


@pytest.mark.parametrize(
    ("kind", "limit", "named"),
    [
        (resource.RLIMIT_NOFILE, 20, "`ulimit -n`"),
        (resource.RLIMIT_AS, 600_000 << 10, "`ulimit -v`"),
    ],
    ids=["20 files", "600 MB of addresses"],
)
def test_a_limit_that_is_too_low_is_named(kind: int, limit: int, named: str):
    done = limited({kind: limit})
    assert done.returncode == 3
    assert named in two_lines(done)


def test_the_limits_that_a_check_asks_for_are_enough():
    done = limited({resource.RLIMIT_NOFILE: FILES, resource.RLIMIT_AS: ADDRESSES})
    assert done.returncode == 0, done.stdout


def limited(limits: Mapping[int, int]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CHECK, "--kernel", RIGHT],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: [resource.setrlimit(k, (most, most)) for k, most in limits.items()],
    )


# -- Ctrl-C before the command runs


INTERRUPTED_AT = """
import os, signal, sys

# As in a terminal: what a script starts in the background ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
from grader.cli import main
sys.exit(main(["check", "01_copy", "--device", "cpu"]))
"""


@pytest.mark.parametrize("module", ["typer", "grader.cli.commands", "grader.grading.check"])
def test_ctrl_c_while_the_command_imports_ends_it_quietly(module: str):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT.format(module=module)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert done.stdout == ""
    assert done.stderr in ("", "interrupted: this check does not count\n")
