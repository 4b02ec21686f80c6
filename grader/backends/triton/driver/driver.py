"""Triton's driver for the simulated GPU. Triton's own runtime binds, specialises and tunes."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
import triton.testing
from triton import runtime
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from grader.backends.triton.driver import host, properties
from grader.backends.triton.driver.benchmark import benchmark_of
from grader.backends.triton.driver.launcher import Launcher, Line, Loaded


class Utils:
    """The functions of Triton's C module that its runtime calls."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        return dict(properties.FOR_TRITON)

    def load_binary(
        self, name: str, kernel: bytes, shared: int, device: int
    ) -> tuple[object, Loaded, int, int, int]:
        """Return a kernel's module and function, its registers and spills, and its most threads."""
        loaded = Loaded(name, kernel.decode())
        return loaded, loaded, properties.REGISTERS, 0, properties.MOST_THREADS


class SimulatedGpu(DriverBase):
    """One GPU of compute capability 9.0, at the other end of a line; all memory is the host's."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self.utils = Utils()
        self.launcher_cls = partial(Launcher, line)
        self._benchmark = benchmark_of(line)

    @classmethod
    def is_active(cls) -> bool:
        return True

    def get_current_target(self) -> Any:
        major, minor = properties.CAPABILITY
        return GPUTarget("cuda", 10 * major + minor, properties.WARP)

    def get_current_device(self) -> int:
        return properties.DEVICE

    def set_current_device(self, device: int) -> None:
        """Do nothing: there is one device."""

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        return properties.CAPABILITY

    def get_active_torch_device(self) -> torch.device:
        return host.GPU

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_benchmarker(self) -> Any:
        return self._benchmark

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        return torch.zeros(1, dtype=torch.int)

    def clear_cache(self, cache: torch.Tensor) -> None:
        cache.zero_()

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty  # for launchers in C, which this driver has none of


def activate(line: Line) -> None:
    """Make the device at the other end of the line the GPU of Triton in this process."""
    gpu = SimulatedGpu(line)
    runtime.driver.set_active(gpu)
    triton.testing.do_bench = gpu.get_benchmarker()
    triton.testing.do_bench_cudagraph = gpu.get_benchmarker()


def imitate_host(line: Line) -> ExitStack:
    """Let torch answer as on a machine with this GPU, until what is returned is closed."""
    seen = host.Host(lambda: line.arena, lambda given: line.opened(given))
    line.unreachable = seen.holds
    return host.imitate(seen)
