"""Runs what is in tests/simulated for numba in a process of its own.

numba decides at its import whether to simulate, and the adapter changes it for good.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

INSIDE = Path(__file__).parents[2] / "simulated"


def python(*arguments: str, simulated: bool) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    environment |= {"NUMBA_DISABLE_CUDA": "1", "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0"}
    environment["NUMBA_ENABLE_CUDASIM"] = "0" if simulated else "1"
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


FILES = ("numba_kernels.py", "logged_kernels.py", "numba_operations.py", "numba_refusals.py")


def test_simulated_kernels():
    """In one process, whose report names the file of each test that failed."""
    files = [str(INSIDE / file) for file in FILES]
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", *files, simulated=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_library_of_nvidia_s_is_needed():
    code = (
        "from cuda.bindings import nvvm, runtime\n"
        "def fail(*_): raise RuntimeError('no such library')\n"
        "runtime.getLocalRuntimeVersion = nvvm.version = nvvm.create_program = fail\n"
        "from grader.backends.numba import simulated\n"
        "simulated.install()\n"
        "simulated.preload()\n"
    )
    done = python("-c", code, simulated=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("simulated", "before", "message"),
    [
        (False, "", "numba was imported with its own CUDA simulator"),
        (
            True,
            "import numba.cuda.simulator.args as args; del args.InOut; ",
            "does not fit: it has no numba.cuda.simulator.args.InOut",
        ),
    ],
    ids=["not-simulated", "other-version"],
)
def test_says_when_it_cannot_grade(simulated, before, message):
    done = python(
        "-c", f"{before}from grader.backends.numba.simulator import setup", simulated=simulated
    )
    assert "grader.model.errors.CannotGrade" in done.stderr
    assert message in done.stderr
