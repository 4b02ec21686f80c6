"""Runs what is in tests/simulated for numba, each file in a process of its own.

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
    environment["NUMBA_ENABLE_CUDASIM"] = "1" if simulated else "0"
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("file", ["numba_kernels.py", "logged_kernels.py"])
def test_simulated_kernels(file: str):
    done = python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", str(INSIDE / file), simulated=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("simulated", "before", "message"),
    [
        (False, "", "numba was imported without its CUDA simulator"),
        (
            True,
            "import numba.cuda.simulator.kernel as kernel; del kernel.BlockManager; ",
            "does not fit: it has no numba.cuda.simulator.kernel.BlockManager",
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
