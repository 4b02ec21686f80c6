"""Processes run first where the system lets them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from grader.machine.processes import HIGH_PRIORITY

ASKS = """
import os, subprocess, sys
from grader.machine import processes
os.setuid(int(sys.argv[1]))
processes.raise_priority()
child = subprocess.run(["nice"], capture_output=True, check=True).stdout
print(os.getpriority(os.PRIO_PROCESS, 0), int(child))
"""


def nice_values(user: int) -> tuple[int, int]:
    """Return the nice values of this user's process that raised its priority, and its child's."""
    command = [sys.executable, "-c", ASKS, str(user)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    mine, child = map(int, done.stdout.split())
    return mine, child


def may_raise_priority() -> bool:
    command = ["nice", "-n", str(HIGH_PRIORITY), "nice"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() == str(HIGH_PRIORITY)


def test_root_raises_its_priority_and_that_of_its_children():
    if not may_raise_priority():
        pytest.skip("only root may raise its priority")
    assert nice_values(os.getuid()) == (HIGH_PRIORITY, HIGH_PRIORITY)


def test_without_root_the_priority_stays():
    user = os.getuid() or 65534
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    assert nice_values(user) == (usual, usual)
