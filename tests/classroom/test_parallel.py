"""Several processes make what one makes, and none is forked beside a thread."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from grader.classroom import parallel

pytestmark = pytest.mark.slow

# For a process of its own, in which there is no thread but the first.
BEGIN = """
import os
import sys
from pathlib import Path

os.sched_getaffinity = lambda pid: {0, 1}
processes = set()
os.register_at_fork(after_in_parent=lambda: processes.add(len(processes)))
"""
WORK = """
from grader.classroom import parallel

def work(number):
    if number < 0:
        raise KeyError("of the work")
    return number, os.getpid()

many = list(parallel.results(work, range(40), worth_it=True, at_once=4))
assert [number for number, _ in many] == list(range(40))
assert os.getpid() not in {process for _, process in many} and len(processes) == 2
assert list(parallel.results(work, [1], worth_it=False)) == [(1, os.getpid())]
try:
    list(parallel.results(work, [-1], worth_it=True))
except KeyError:
    print("all is well")
"""
PAGES = """
import sites
from grader.reports import board

site = sites.class_of_40()
alone = board.pages(site)
board.WORTH_PROCESSES = 0
assert not processes
assert board.pages(site) == alone and len(alone) > 40
assert len(processes) == 2
print("all is well")
"""
FILES = """
import classes
from grader.classroom.board import collect

folder = Path(sys.argv[1])
lines = [classes.line(0.5 + n / 100, student=f"s{n}") for n in range(12)]
alone = classes.read(folder, *lines, "{")
assert not processes
collect.BATCH = 20_000
together = collect.collect([folder], classes.CONTEXT)
assert together == alone and len(together.entries) == 12
assert len(processes) == 2
print("all is well")
"""


def in_its_own_process(source: str, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BEGIN + source, *words],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("all is well\n", "")


def test_several_processes_do_what_one_does():
    in_its_own_process(WORK)


def test_several_processes_make_the_pages_that_one_makes():
    in_its_own_process(PAGES)


def test_several_processes_read_what_one_reads(tmp_path: Path):
    in_its_own_process(FILES, str(tmp_path))


def test_nothing_is_forked_beside_a_thread(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        made = list(parallel.results(lambda _: os.getpid(), range(3), worth_it=True))
    finally:
        over.set()
        thread.join()
    assert made == [os.getpid()] * 3
