"""One compilation: whose fault is it when it fails, and does it leave the others alone?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.worker.compile_jobs import Compiler, Killed, Refused, _answer

# The first job waits for another to write. Of that one's error nothing says more.
PROGRAM = """
import json, os, signal, sys
from pathlib import Path

from grader.worker import compile_jobs
from grader.worker.compile_jobs import Compiler, Refused


def build(path, job):
    if path.name == "waits":
        return {"read": path.with_name("pipe").read_text()}
    if path.name == "ends":
        return {}
    if path.name in ("killed", "crashes"):
        signals = {"killed": signal.SIGKILL, "crashes": signal.SIGABRT}
        os.kill(os.getpid(), signals[path.name])
    build.pipe = path.with_name("pipe").open("w")
    raise ValueError


def diagnosed(log, error, text):
    raise error


compile_jobs.AT_ONCE = 2
compiler = Compiler(lambda: None, lambda: None, build, diagnosed, lambda log: Refused("crashed"))
jobs = [{"file": name, "target": 90, "limit_s": 60} for name in sys.argv[2:]]
built = compile_jobs._in_order(compiler, Path(sys.argv[1]), jobs, float("inf"))
print(json.dumps(list(built)))
"""

REFUSED = {"error": "in the compiler's words", "line": 3}


@pytest.mark.parametrize(
    ("raised", "answer"),
    [
        (Refused("we refuse it", 7), {"error": "we refuse it", "line": 7}),
        (Killed(), {"killed": True}),
        (RuntimeError("PassManager::run failed"), REFUSED),
        (ValueError("num_ctas > 1"), REFUSED),
        (OSError("no room"), {"fault": "OSError: no room"}),
        (AttributeError("no such name"), {"fault": "AttributeError: no such name"}),
        (
            subprocess.CalledProcessError(1, "nvdisasm"),
            {
                "fault": "CalledProcessError: Command 'nvdisasm' returned non-zero exit status 1.",
            },
        ),
    ],
    ids=["ours", "killed", "a pass", "an option", "the machine", "another version", "a tool"],
)
def test_only_a_compilers_errors_are_the_kernels_fault(
    tmp_path: Path, raised: Exception, answer: dict[str, Any]
) -> None:
    def build(path: Path, job: Mapping[str, Any]) -> dict[str, Any]:
        raise raised

    def diagnosed(log: Path, error: Exception, text: str) -> Refused:
        return Refused("in the compiler's words", 3)

    compiler = Compiler(
        load=lambda: None,
        missing=lambda: None,
        build=build,
        diagnosed=diagnosed,
        crashed=lambda log: Refused("it crashed"),
    )
    text = tmp_path / "0.text"
    text.write_text("kernel")
    assert _answer(compiler, text, {}, tmp_path / "0.errors") == answer


def carried_out(folder: Path, *names: str) -> list[dict[str, Any]]:
    """Return what two jobs at once give, of those with these names."""
    os.mkfifo(folder / "pipe")
    for name in names:
        (folder / name).touch()
    command = [sys.executable, "-c", PROGRAM, str(folder), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    built: list[dict[str, Any]] = json.loads(done.stdout)
    return built


CRASHED = {"error": "crashed", "line": None}


@pytest.mark.slow
def test_a_job_that_fails_in_an_unknown_way_ends_no_other(tmp_path: Path):
    assert carried_out(tmp_path, "waits", "fails") == [{"read": ""}, CRASHED]


@pytest.mark.slow
def test_only_a_compiler_that_crashes_refuses_a_kernel(tmp_path: Path):
    """The system killed it for want of memory, and the kernel was said not to run on this GPU."""
    assert carried_out(tmp_path, "killed", "crashes") == [{"killed": True}, CRASHED]


@pytest.mark.slow
def test_a_job_begins_when_any_other_has_ended(tmp_path: Path):
    built = carried_out(tmp_path, "waits", "ends", "fails")
    assert built == [{"read": ""}, {}, CRASHED]
