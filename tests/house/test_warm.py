"""Forked processes of the grader behave as started ones do: tests/warm.py."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import warm

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CHECK = [sys.executable, "-m", "grader.cli", "check", "t01", "--device", "cpu", "--seed=1"]


@pytest.fixture(autouse=True)
def _left_as_it_was() -> Iterator[None]:
    before = subprocess.Popen
    yield
    warm.use(before is warm.Popen)


def done(warmly: bool, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    warm.use(warmly)
    env = {**os.environ, **variables}
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True)


def test_a_check_comes_to_the_same_result():
    both = [done(warmly, *CHECK, "--solution", "--json") for warmly in (True, False)]
    results = [json.loads(one.stdout) for one in both]
    for result in results:
        for step in result["steps"]:
            del step["duration_s"]
        del result["duration_s"], result["started_at"]
    assert results[0] == results[1]
    assert [one.returncode for one in both] == [0, 0]
    assert both[0].stderr == both[1].stderr


def test_a_worker_has_nothing_of_the_judges(tmp_path: Path):
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "import sys\n"
        "names = ('pytest', 'pydantic', 'hypothesis', 'warm', 'grader.grading')\n"
        "assert not [name for name in names if name in sys.modules]\n"
        "import subprocess\n"
        "assert not hasattr(subprocess.Popen, '_forker')\n"
        + (ROOT / "solutions" / "t01_programs" / "kernel.py").read_text()
    )
    result = json.loads(done(True, *CHECK, "--kernel", str(kernel), "--json").stdout)
    assert result["status"] == "pass", result["steps"][0]


@pytest.mark.parametrize(
    "words",
    [
        *(("grader.cli", "list"), ("grader.cli", "show", "nothing"), ("grader.cli", "--nonsense")),
        ("pytest", "-p", "grader.plugin", "--version"),
    ],
)
def test_streams_and_exit_codes_are_the_same(words: tuple[str, ...]):
    command = [sys.executable, "-m", *words]
    with warm.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        assert process._forker is not None
    forked, started = done(True, *command), done(False, *command)
    assert forked.stdout == started.stdout
    assert forked.stderr == started.stderr
    assert forked.returncode == started.returncode


@pytest.mark.parametrize("line", ["grader list", "grader check nothing", "cd docs && grader list"])
def test_a_shell_finds_a_grader_that_does_the_same(line: str):
    printed = []
    for warmly in (True, False):
        warm.use(warmly)
        path = f"{warm.path_of_grader()}{os.pathsep}{os.environ['PATH']}"
        printed.append(done(warmly, "bash", "-c", line, PATH=path))
    forked, started = ((one.stdout, one.stderr, one.returncode) for one in printed)
    assert forked == started
    assert forked[0] or forked[1]


def test_code_for_another_process_has_it_fork_likewise():
    warm.use(warm=True)
    code = f"{warm.for_another_process()}\n" + (
        "import subprocess, sys\n"
        "with subprocess.Popen([sys.executable, '-m', 'grader.cli', 'show', 'nothing']) as one:\n"
        "    print(type(one).__module__, one.wait())"
    )
    assert done(True, sys.executable, "-c", code).stdout == "warm 2\n"


def test_a_process_that_a_signal_ended_says_so():
    warm.use(warm=True)
    with subprocess.Popen(CHECK, cwd=ROOT, stderr=subprocess.PIPE) as process:
        assert isinstance(process, warm.Popen)
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL


def test_a_judge_ends_with_the_command_that_started_it():
    warm.use(warm=True)
    with subprocess.Popen(CHECK, cwd=ROOT, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.readline()  # `grading t01_programs …`: the judge starts
        process.kill()
        assert process.stderr.read() == b""  # and its end is closed, too


def test_threads_may_start_the_first_processes_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(warm, "_folder", None)
    monkeypatch.setattr(warm, "_forkers", [])
    monkeypatch.setattr(warm, "KINDS", ("judge",))  # which forks commands; each kind imports torch
    begun, start = [], warm._started
    monkeypatch.setattr(warm, "_started", lambda folder: begun.append(folder) or start(folder))
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(lambda _: done(True, *CHECK[:3], "list"), range(2)))
    assert [one.returncode for one in ended] == [0, 0]
    assert len(begun) == 1


def test_variables_that_python_itself_reads_are_read():
    listed = [
        done(True, *CHECK[:3], "list", PYTHONIOENCODING=encoding).stdout
        for encoding in ("ascii", "utf-8")
    ]
    assert [text.isascii() for text in listed] == [True, False]
    assert all("p01_map" in text for text in listed)


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, "-c", "import sys; sys.exit('torch' in sys.modules)"],
        [sys.executable, "-m", "grader.model.results"],
        ["true"],
    ],
)
def test_other_programs_start_as_ever(command: list[str]):
    warm.use(warm=True)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        assert process._forker is None
        assert process.wait() == 0
