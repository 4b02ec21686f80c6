"""Processes on one core, and on each core again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.machine import cores
from grader.machine.cores import one_core
from grader.model import CannotGrade

# A process with a thread and a child of its own, which say that they run.
FAMILY = """
import os, threading, time
if os.fork() == 0:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
os.write(1, b"x")
time.sleep(60)
"""


@pytest.fixture
def family() -> Iterator[list[int]]:
    """The threads of a child and a grandchild."""
    with subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.read(2) == b"xx"
        (other,) = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        yield [
            int(task.name)
            for pid in (child.pid, other)
            for task in Path(f"/proc/{pid}/task").iterdir()
        ]
        os.kill(int(other), 9)
        child.kill()


def test_all_threads_below_run_on_one_core_until_the_end(family: list[int]):
    mine = os.sched_getaffinity(0)
    assert len(family) == 3
    with one_core() as keep:
        keep()
        (core,) = os.sched_getaffinity(family[0])
        assert all(os.sched_getaffinity(one) == {core} for one in family)
        assert os.sched_getaffinity(0) == mine  # the judge itself works beside them
    assert all(os.sched_getaffinity(one) == mine for one in family)


def test_a_quiet_core_is_chosen(monkeypatch: pytest.MonkeyPatch):
    seconds = {3: 0.4, 5: 0.2, 6: 0.3}
    where: list[int] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(seconds))
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: where.append(min(cores)))
    monkeypatch.setattr(cores, "_seconds", lambda: seconds[where[-1]])
    monkeypatch.setattr(cores.processes, "descendants", lambda: {os.getpid()})
    with one_core() as keep:
        keep()
        assert where[-1] == 5


def test_a_process_that_cannot_be_moved_is_no_silent_success(
    family: list[int], monkeypatch: pytest.MonkeyPatch
):
    """Root without CAP_SYS_NICE may not move a worker that is another user."""
    move = os.sched_setaffinity

    def refused(pid: int, cores: set[int]) -> None:
        if pid in family:
            raise PermissionError(1, "Operation not permitted")
        move(pid, cores)

    with one_core() as keep:
        monkeypatch.setattr(os, "sched_setaffinity", refused)
        with pytest.raises(CannotGrade, match="may not choose the core"):
            keep()
        monkeypatch.undo()
