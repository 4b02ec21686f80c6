"""One measurement at a time on a GPU: a lock for all judges, and who else computes there."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from grader.machine import nvml, processes
from grader.model import CannotGrade

WAIT_FOR_GPU_S = 60.0


def uuid() -> str:
    """This GPU's, as NVML writes it."""
    return f"GPU-{torch.cuda.get_device_properties(0).uuid}"


@contextmanager
def gpu_for_us_alone() -> Iterator[None]:
    """Hold the lock that all judges of this machine share for the GPU.

    Raises CannotGrade when another check measures for longer than WAIT_FOR_GPU_S.
    """
    path = Path(tempfile.gettempdir()) / f"grader-{uuid()}.lock"
    with path.open("a") as lock:
        deadline = time.monotonic() + WAIT_FOR_GPU_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise CannotGrade(
                        f"Another check has been measuring on this GPU for {WAIT_FOR_GPU_S:.0f} s.",
                        "Wait until it is done, and check again.",
                    ) from None
                time.sleep(0.2)
        yield


def disturbance(others: Sequence[nvml.Process]) -> str | None:
    """Which other programs use the GPU, in words; None where none does."""
    if not others:
        return None
    names = ", ".join(f"{one.name} (process {one.pid})" for one in others)
    return f"another program uses the GPU: {names}"


def others() -> Sequence[nvml.Process]:
    """Programs on the GPU that are none of this judge's."""
    return nvml.others(uuid(), {os.getpid(), *processes.descendants()})
