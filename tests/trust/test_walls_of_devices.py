"""The simulated GPU and the compiler read a stranger's text: both have the walls of a worker."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import extended
import pytest

from grader import backends
from grader.course.exercise import Exercise
from grader.machine import processes
from grader.sandbox import commands, walls
from grader.sandbox.arena import HostArena
from grader.sandbox.fork_server import ForkServer
from grader.worker import confine
from grader.worker.walls import TRIALS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),  # pytest has threads
]

COURSE = Path(__file__).parents[1] / "courses" / "bad"
COPY = Exercise(COURSE / "exercises" / "02_copy_numba")
ALL = ",".join(confine.NAMES)

BACKEND = """
from dataclasses import replace

from grader.backends.triton import BACKEND as TRITON

BACKEND = replace(TRITON, name="tried", device="device")
"""
WORKER = """
def install():
    return lambda link: None
"""
DEVICE = """
import os
from pathlib import Path

from grader.worker.walls import try_all


def serve(judge, worker, arena, scratch):
    # Its own folder lies beside the worker's, which its environment names.
    os.environ["HOME"] = str(Path(os.environ["HOME"]).with_name("device"))
    judge.send(try_all(judge.receive()))
"""
COMPILER = """
import json, sys
from pathlib import Path

from grader.backends.triton import compile_ttir
from grader.worker import compile_jobs
from grader.worker.walls import try_all

compile_jobs._in_order = lambda compiler, folder, jobs, deadline: (try_all(job) for job in jobs)
compile_jobs.carry_out(compile_ttir.COMPILER, Path(sys.argv[1]), 600, sys.argv[2])
"""


@pytest.fixture(autouse=True)
def _added(tmp_path: Path) -> Iterator[None]:
    """Add a backend whose device tries the walls around it."""
    folder = tmp_path / "backends" / "tried"
    folder.mkdir(parents=True)
    for name, text in (("__init__", BACKEND), ("simulated", WORKER), ("device", DEVICE)):
        (folder / f"{name}.py").write_text(text)
    backends.__path__.append(str(folder.parent))
    processes.adopt_orphans()
    yield
    extended.take_back()


def held(answers: dict[str, Any]) -> set[str]:
    assert answers.keys() == TRIALS.keys()
    return {name for name, holds in answers.items() if holds}


def around_a_device() -> set[str]:
    arena = HostArena(1 << 20)
    with closing(ForkServer("tried", "cpu")) as fork_server, walls._targets(COPY) as targets:
        worker = fork_server.fork(arena.fd)
        assert worker.device is not None
        worker.device.send(targets)
        answers = worker.device.receive(60)
        fork_server.kill()
        worker.close()
    arena.close()
    return held(answers)


def around_the_compiler(folder: Path) -> set[str]:
    with walls._targets(COPY) as targets:
        (folder / "jobs.json").write_text(json.dumps([targets]))
        (folder / "jobs.json").chmod(0o644)
        without = commands.walls_left_out()
        argv = [sys.executable, "-I", "-c", COMPILER, str(folder), without]
        done = commands.run_once(argv, folder, 60)
    lines = (folder / "built.jsonl").read_text().splitlines()
    assert len(lines) == 1, done.output
    return held(json.loads(lines[0]))


def around_a_worker() -> set[str]:
    with closing(ForkServer("numba", "cpu")) as fork_server:
        tried = walls.try_all(fork_server, COPY)
    return {wall.name for wall in tried if wall.held} - {"leftovers"}


@pytest.mark.parametrize("without", ["", ALL], ids=["all walls", "no walls"])
def test_device_and_compiler_have_the_walls_of_a_worker(
    monkeypatch: pytest.MonkeyPatch, without: str
):
    monkeypatch.setenv(commands.WITHOUT, without)
    around = around_a_worker()
    assert around_a_device() == around
    with commands.private_home() as home:
        assert around_the_compiler(home) == around
    assert bool(around >= walls.REQUIRED - {"leftovers"}) == (without == "")
