"""Private names of numba-cuda and greenlet, and what they do where we rely on that."""

from __future__ import annotations

import importlib
import logging
import os
import subprocess
import sys
from contextvars import copy_context
from pathlib import Path

import numpy as np
import pytest
from contracts import is_used, rows
from greenlet import greenlet

from grader.backends.numba import contract
from grader.worker import faults
from grader.worker.requirements import Touchpoint

pytestmark = pytest.mark.slow

ROWS = rows(contract.COMPILED, contract.SIMULATED, contract.GREENLETS)
MISTAKES = Path(__file__).parents[2] / "simulated" / "numba_mistakes.py"


@ROWS
def test_contract_holds(touchpoint: Touchpoint):
    assert touchpoint.misfit() is None


@ROWS
def test_contract_lists_what_is_used(touchpoint: Touchpoint):
    assert is_used(touchpoint)


def test_contract_each_launch_passes_where_it_is_observed():
    """Nothing can be launched without a GPU: test_without_kernels.py does it on one."""
    dispatcher = importlib.import_module("numba.cuda.dispatcher")
    assert "launch" in dispatcher.CUDADispatcher.call.__code__.co_names


def test_contract_a_thread_keeps_what_numpy_does_with_inf_and_nan():
    quiet = copy_context()
    quiet.run(np.seterr, all="ignore")
    thread = greenlet(lambda: np.geterr()["over"])
    thread.gr_context = quiet
    with np.errstate(over="raise"):
        assert thread.switch() == "ignore"
        assert np.geterr()["over"] == "raise"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("CUDA_ERROR_OUT_OF_MEMORY", "out_of_memory"),
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "out_of_bounds"),
        ("CUDA_ERROR_ASSERT", "exception"),
    ],
)
def test_contract_an_error_of_the_driver_has_its_name(
    code: str, kind: str, monkeypatch: pytest.MonkeyPatch
):
    driver = importlib.import_module("numba.cuda.cudadrv.driver")
    # It has one from the moment when it starts the GPU.
    monkeypatch.setattr(driver, "_logger", logging.getLogger("numba"), raising=False)
    status = getattr(driver.binding.CUresult, code)
    with pytest.raises(driver.CudaAPIError, match=code) as caught:
        driver.Driver._check_cuda_python_error(None, "cuLaunchKernel", (status,))
    assert faults.describe(caught.value, "kernel.py").kind == kind


def test_contract_texts_about_common_mistakes():
    """Each text by which a hint is found comes from the simulator, in a process of its own."""
    environment = dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", NUMBA_DISABLE_CUDA="1")
    environment["NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"] = "0"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(MISTAKES)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
