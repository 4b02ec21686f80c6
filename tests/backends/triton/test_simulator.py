"""Runs tests/simulated/triton_kernels.py in a process of its own.

Triton decides at its import whether to interpret, and the adapter changes it for good.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

INSIDE = Path(__file__).parents[2] / "simulated" / "triton_kernels.py"


def python(*arguments: str, simulated: bool) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    environment["TRITON_INTERPRET"] = "1" if simulated else "0"
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def test_simulated_kernels():
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", str(INSIDE), simulated=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("simulated", "before", "message"),
    [
        (False, "", "Triton was imported without its interpreter"),
        (
            True,
            "from triton.runtime import interpreter; del interpreter.InterpreterBuilder.binary_op;",
            "does not fit: it has no triton.runtime.interpreter.InterpreterBuilder.binary_op",
        ),
    ],
    ids=["not-simulated", "other-version"],
)
def test_says_when_it_cannot_grade(simulated, before, message):
    code = (
        f"{before}from grader.worker.bounds import AddressGuard; "
        "from grader.backends.triton.simulator import setup; setup.install(AddressGuard())"
    )
    done = python("-c", code, simulated=simulated)
    assert "grader.model.errors.CannotGrade" in done.stderr
    assert message in done.stderr
