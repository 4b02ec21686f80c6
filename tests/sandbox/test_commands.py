"""A command runs as a worker does, and nothing of it is left."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from grader.machine import processes
from grader.sandbox import commands


def test_a_user_number_without_a_name_gets_one(tmp_path: Path):
    """torch 2.11's compiler asks for it when it is imported: "getpwuid(): uid not found", it told
    of torch.compile in `grader bench`."""
    asks = """
import getpass, pwd

def getpwuid(number):
    raise KeyError(f"getpwuid(): uid not found: {number}")

pwd.getpwuid = getpwuid
print(getpass.getuser())
"""
    done = subprocess.run(
        [sys.executable, "-c", asks],
        env=commands.environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "worker\n", done.stderr


def test_a_command_waits_for_its_work_until_it_is_finished(tmp_path: Path):
    with closing(commands.Command(["cat"], tmp_path)) as command:
        pid = command._process.pid
        with pytest.raises(subprocess.TimeoutExpired):
            command._process.wait(0.2)
        assert command.finish(60) == commands.Done(0, "")
    assert pid not in processes.descendants()


def test_a_command_that_never_ends_is_killed(tmp_path: Path):
    script = ["sh", "-c", "echo began; sleep 60"]
    with closing(commands.Command(script, tmp_path)) as command:
        assert command.finish(0.5).status is None
    before = processes.descendants()
    with closing(commands.Command(script, tmp_path)):
        assert processes.descendants() > before
    assert processes.descendants() == before
