"""The versions and the device that a result names."""

from __future__ import annotations

import platform
from importlib import metadata

import grader
from grader import backends
from grader.machine import nvml
from grader.model import Environment

_FIELDS = Environment.model_fields.keys()


def environment(device: str) -> Environment:
    name, capability, driver = "cpu", None, None
    if device == "cuda":
        import torch

        name = torch.cuda.get_device_name()
        capability = "{}.{}".format(*torch.cuda.get_device_capability())
        driver = nvml.driver_version()
    record = Environment(
        grader=grader.__version__,
        python=platform.python_version(),
        torch=_version("torch"),
        device=name,
        simulated=device == "cpu",
        capability=capability,
        driver=driver,
    )
    packages = (package for backend in backends.every() for package in backend.packages)
    versions = {one.field: _version(one.name) for one in packages if one.field in _FIELDS}
    return record.model_copy(update=versions)


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
