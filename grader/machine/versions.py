"""Where a check runs: the versions and the device that its result names."""

from __future__ import annotations

import platform
from importlib import metadata

import grader
from grader.machine import nvml
from grader.model import Environment


def environment(device: str) -> Environment:
    """Versions and device of this run."""
    name, capability, driver = "cpu", None, None
    if device == "cuda":
        import torch

        name = torch.cuda.get_device_name()
        capability = "{}.{}".format(*torch.cuda.get_device_capability())
        driver = nvml.driver_version()
    return Environment(
        grader=grader.__version__,
        python=platform.python_version(),
        torch=_version("torch"),
        triton=_version("triton"),
        numba_cuda=_version("numba-cuda"),
        device=name,
        simulated=device == "cpu",
        capability=capability,
        driver=driver,
    )


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
