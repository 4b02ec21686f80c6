"""Prepare a process for the workers of one backend, before any of them is forked."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.model import CannotGrade
from grader.worker import refused_imports
from grader.worker.backend import backend_module, has
from grader.worker.kernels import Kernels, ServeDevice

if TYPE_CHECKING:
    from grader.worker.device_link import DeviceLink


@dataclass(frozen=True)
class Toolbox:
    """The imports of the fork server.

    `make_kernels` takes a `DeviceLink`, or None before there is memory, where the backend has a
    simulated device, which is `serve_device`; else it takes nothing. `notes` report what could not
    be loaded: a worker loads that itself, when it needs it.
    """

    make_kernels: Callable[..., Kernels]
    simulated: bool
    serve_device: ServeDevice | None = None
    notes: tuple[str, ...] = ()

    def kernels(self, link: DeviceLink | None) -> Kernels:
        return self.make_kernels() if self.serve_device is None else self.make_kernels(link)


def prepare(backend: Path, device: str) -> Toolbox:
    """Import the modules that workers of this backend need, before any worker is forked.

    Raises CannotGrade when an installed library does not fit.
    """
    sys.dont_write_bytecode = True
    simulated = device == "cpu"
    # The libraries' objects stay. Collecting garbage among them would take an eighth of the time
    # of the imports, and a quarter of a launch that records some thousand accesses.
    gc.disable()
    module = backend_module(backend, "simulated" if simulated else "compiled")
    make_kernels = module.install()
    refused_imports.install()
    modules = [module]
    if simulated and has(backend, "device"):
        modules.append(backend_module(backend, "device"))
    notes = [module.preload() for module in modules if hasattr(module, "preload")]
    if not simulated:
        _refuse_started_cuda(backend.name)
    gc.freeze()
    gc.enable()
    serve_device = getattr(modules[-1], "serve", None)
    return Toolbox(make_kernels, simulated, serve_device, tuple(filter(None, notes)))


def _refuse_started_cuda(backend: str) -> None:
    from grader.worker.gpu import cuda_started

    if cuda_started():
        raise CannotGrade(
            f"Loading the libraries of {backend!r} started CUDA, so no worker can use the GPU.",
            "This is a fault of the grader, or of a version of a library that it was not tested "
            "with: `grader doctor` lists them.",
        )
