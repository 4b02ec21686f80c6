"""Which processes run first, as the system lets them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from grader.machine.processes import FIRST

ASKS = """
import os, subprocess, sys
from grader.machine import processes
os.setuid(int(sys.argv[1]))
processes.come_first()
child = subprocess.run(["nice"], capture_output=True, check=True).stdout
print(os.getpriority(os.PRIO_PROCESS, 0), int(child))
"""


def asked_as(user: int) -> tuple[int, int]:
    """The nice values of a process of this user that asked to come first, and of its child."""
    command = [sys.executable, "-c", ASKS, str(user)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    mine, child = map(int, done.stdout.split())
    return mine, child


def may_come_first() -> bool:
    command = ["nice", "-n", str(FIRST), "nice"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() == str(FIRST)


def test_who_may_comes_first_and_takes_its_children_along():
    if not may_come_first():
        pytest.skip("only root may raise its priority")
    assert asked_as(os.getuid()) == (FIRST, FIRST)


def test_who_may_not_goes_on_as_ever():
    user = os.getuid() or 65534
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    assert asked_as(user) == (usual, usual)
