"""Several processes make what one makes, and none is forked beside a thread."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from grader.render import forked

# A process of its own, in which there is no thread but the first.
ALONE = """
import os
from functools import partial

import sites
from grader.render import board, forked

site = sites.class_of_40()
os.sched_getaffinity = lambda pid: {0, 1}
makers = [lambda: str(os.getpid())] * 40
assert os.getpid() not in map(int, forked.texts(makers, worth_it=True))
assert {os.getpid()} == set(map(int, forked.texts(makers, worth_it=False)))
makers = [partial(str, number) for number in range(40)]
assert list(forked.texts(makers, worth_it=True)) == [str(number) for number in range(40)]
alone = board.pages(site)
board.WORTH_PROCESSES = 0
assert board.pages(site) == alone and len(alone) > 40

def wrong():
    raise KeyError("of a maker")

try:
    list(forked.texts([wrong], worth_it=True))
except KeyError:
    print("all is well")
"""


def test_several_processes_make_what_one_makes():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("all is well\n", "")


def test_nothing_is_forked_beside_a_thread(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        made = list(forked.texts([lambda: str(os.getpid())] * 3, worth_it=True))
    finally:
        over.set()
        thread.join()
    assert made == [str(os.getpid())] * 3
