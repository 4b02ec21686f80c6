"""Entries of one file pass nothing on but by their arguments: each cheat leaves a mark, in vain.

Forward, each of them leaves a mark; backward, it is right where it finds the mark and does nothing
where it does not. So its verdict shows whether anything of the forward pass was there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course import catalog
from grader.grading import check
from grader.grading.options import Options
from grader.model.outcomes import Outcome, Status
from grader.model.results import Result

pytestmark = pytest.mark.slow

SCALE = catalog.find(Path(__file__).parents[1] / "courses" / "entries", "01_scale")
FORWARD, BACKWARD = "    scale_kernel[", "    scale_backward_kernel["
# What the file begins with, `leave()` of the forward pass, and whether `found()`.
CHEATS = {
    "a global": """
marks = []

def leave(): marks.append(1)
def found(): return bool(marks)
""",
    "a file": """
import contextlib
from pathlib import Path

MARKS = [Path(f, "mark-of-scale") for f in (Path.home(), "/tmp", "/dev/shm", "/var/tmp", ".")]

def leave():
    for mark in MARKS:
        with contextlib.suppress(OSError):
            mark.touch()

def found(): return any(mark.exists() for mark in MARKS)
""",
    "a process that stays": """
import os
import socket

NAME = "\\0mark-of-scale"

def leave():
    try:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(NAME)
    except OSError:
        return
    listener.listen()
    listener.set_inheritable(True)
    if os.fork() == 0:
        os.setsid()
        while True:
            listener.accept()
    listener.close()

def found():
    try:
        socket.socket(socket.AF_UNIX).connect(NAME)
    except OSError:
        return False
    return True
""",
}


def kernel_of(cheat: str, folder: Path) -> Path:
    source = SCALE.solution.read_text(encoding="utf-8")
    head, launch, tail = source.partition(FORWARD)
    forward = f"{head}    leave()\n{launch}{tail}"
    head, launch, tail = forward.partition(BACKWARD)
    text = f"{head}    if not found():\n        return\n{launch}{tail}"
    file = folder / f"{cheat.replace(' ', '_')}.py"
    file.write_text(CHEATS[cheat] + text)
    return file


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    folder = tmp_path_factory.mktemp("cheats")
    how = Options(device="cpu", shrink=False)
    requests = [check.Request(SCALE, kernel_of(cheat, folder), how) for cheat in CHEATS]
    return dict(zip(CHEATS, check.run(requests, lambda text: None), strict=True))


@pytest.mark.parametrize("cheat", CHEATS)
def test_backward_finds_nothing_that_forward_left(cheat: str, results: dict[str, Result]):
    _forward, backward = results[cheat].entries
    (correctness,) = (step for step in backward.steps if step.name == "correctness")
    assert (correctness.outcome, correctness.failure.kind) == (Outcome.FAIL, "never_written")
    assert results[cheat].status is Status.FAIL


def test_forward_is_right_in_each_of_them(results: dict[str, Result]):
    """Or its mark would never have been left."""
    for result in results.values():
        assert result.entries[0].steps[1].outcome is Outcome.PASS
