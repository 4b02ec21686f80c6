"""CUDA C++ in a worker without a GPU: sources are compiled, and launches are noted.

Nothing is simulated: a call whose launches did nothing ends with NotSimulated.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from cuda import core
from cuda.bindings import driver

from grader.backends.cuda import contract, programs, refused_names, stand_ins
from grader.backends.cuda.preload import preload
from grader.backends.cuda.refusals import LaunchRefused, NotCompiled, NotSimulated
from grader.model import BuildOptions, CannotGrade, Specialisation
from grader.worker.allocations import Allocations
from grader.worker.arena_mapping import map_arena, tensor_at
from grader.worker.launches import Withheld
from grader.worker.recorder import Recorder
from grader.worker.requirements import require
from grader.worker.traffic_counter import Ledger

__all__ = ["DryRun", "install", "preload"]

# What libraries say where there is no GPU.
NO_GPU = (
    *("NVIDIA driver", "not compiled with CUDA", "No CUDA GPUs"),
    *("dummy base class", "device-accessible"),
)
WARP = 32


class DryRun:
    """Kernels that are compiled and not run."""

    def __init__(self) -> None:
        self._withheld = False

    def map(self, ticket: Mapping[str, Any], fd: int | None) -> None:
        self._memory = map_arena(ticket, fd)
        self.allocations = Allocations()

    def argument(self, ref: Mapping[str, Any]) -> object:
        return tensor_at(self._memory, ref)

    def before_call(self, refs: list[Mapping[str, Any]]) -> None:
        """Forget the launches of earlier calls."""
        stand_ins.launched.kernels.clear()
        stand_ins.launched.count = 0

    def in_other_order(self) -> AbstractContextManager[None]:
        return nullcontext()  # no launch happens

    def watching(self) -> AbstractContextManager[object]:
        return nullcontext()

    def counting(self, refs: list[Mapping[str, Any]]) -> AbstractContextManager[Ledger]:
        return nullcontext(Ledger([]))

    def logging(self) -> AbstractContextManager[None]:
        return nullcontext()

    def recording(self) -> AbstractContextManager[Recorder]:
        recorder = Recorder(range(0))
        recorder.refuse("no launch happens without a GPU")
        return nullcontext(recorder)

    def mark(self) -> None:
        """Do nothing: nothing is timed."""

    def observing(self) -> AbstractContextManager[None]:
        return nullcontext()

    def launched(self) -> tuple[Specialisation, ...]:
        return tuple(_specialisation(*each) for each in stand_ins.launched.kernels)

    @contextmanager
    def without_kernels(self) -> Iterator[Withheld]:
        withheld = Withheld()
        self._withheld = True
        try:
            yield withheld
        finally:
            self._withheld = False
            withheld.launches = stand_ins.launched.count

    def synchronize(self) -> None:
        """Say that nothing was computed, unless the judge expects that."""
        if not self._withheld:
            raise NotSimulated("its language runs on a GPU only")

    def settle(self) -> None:
        """Do nothing: no memory of a GPU is held."""

    def root_cause(self, error: BaseException) -> BaseException:
        if isinstance(error, NotCompiled | LaunchRefused | NotSimulated):
            return error
        cause: BaseException | None = error
        while cause is not None:
            if any(text in str(cause) for text in NO_GPU):
                return NotSimulated("its Python code asks the GPU's driver")
            cause = cause.__cause__ or cause.__context__
        return error


def _specialisation(kernel: stand_ins.Kernel, threads: int, shared: int) -> Specialisation:
    options = kernel.program.options
    given = {name: getattr(options, name) for name in stand_ins.OPTIONS}
    given |= {name: _macros(given[name]) for name in ("define_macro", "undefine_macro")}
    text = {
        "code": kernel.program.code,
        "arch": options.arch,
        "options": {name: value for name, value in given.items() if value},
        "names": kernel.names,
        "kernel": kernel.name,
    }
    build = BuildOptions(num_warps=-(-threads // WARP), shared=shared)
    return Specialisation(kernel.name, json.dumps(text), build)


def _macros(given: Any) -> list[str]:
    """Return macros as NVRTC takes them, `NAME` or `NAME=TEXT`, from all forms of cuda.core's."""
    if isinstance(given, str) or (isinstance(given, tuple) and len(given) == 2):
        given = [given]
    return [one if isinstance(one, str) else "=".join(map(str, one)) for one in given or ()]


def install() -> type[DryRun]:
    """Prepare this process before workers are forked; return a factory of backends for them.

    Raises CannotGrade when NVRTC is not installed, or cuda.core does not fit.
    """
    require(contract.COMPILED, contract.DRY_RUN)
    if preload() is not None:
        raise CannotGrade(
            "NVRTC, which compiles CUDA C++, is not installed.",
            "`pip install 'kernel-grader[cuda]'` brings it.",
        )
    torch.set_num_threads(1)
    programs.headers()  # looked up before walls rise
    refused_names.install()
    for name in ("Device", "LaunchConfig", "Linker", "Program", "ProgramOptions", "launch"):
        setattr(core, name, getattr(stand_ins, name))
    driver.cuKernelSetAttribute = stand_ins.set_kernel_attribute
    # A file may launch on torch's stream.
    setattr(torch.cuda, "current_stream", lambda device=None: stand_ins.Stream())  # noqa: B010
    setattr(torch.cuda, "current_device", lambda: stand_ins.Device.device_id)  # noqa: B010
    return DryRun
