"""The GPU that a simulated kernel file asks about: an H100 with compute capability 9.0."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from grader.backends.numba.simulator import launch_limits
from grader.backends.numba.simulator.not_simulated import NotSimulated
from grader.backends.numba.simulator.warps import LANES

COMPUTE_CAPABILITY = (9, 0)
_SIZE = 80 << 30  # bytes of memory
# By the names of CUDA's device attributes, which numba gives a device.
ATTRIBUTES: dict[str, int] = {
    "COMPUTE_CAPABILITY_MAJOR": COMPUTE_CAPABILITY[0],
    "COMPUTE_CAPABILITY_MINOR": COMPUTE_CAPABILITY[1],
    "COOPERATIVE_LAUNCH": 1,
    "L2_CACHE_SIZE": 50 << 20,
    **dict(zip(("MAX_BLOCK_DIM_X", "MAX_BLOCK_DIM_Y", "MAX_BLOCK_DIM_Z"),
               launch_limits.LARGEST_BLOCK, strict=True)),
    **dict(zip(("MAX_GRID_DIM_X", "MAX_GRID_DIM_Y", "MAX_GRID_DIM_Z"),
               launch_limits.LARGEST_GRID, strict=True)),
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
    "MAX_REGISTERS_PER_BLOCK": 65_536,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65_536,
    "MAX_SHARED_MEMORY_PER_BLOCK": launch_limits.MAX_SHARED_BYTES,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 227 * 1024,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 228 * 1024,
    "MAX_THREADS_PER_BLOCK": launch_limits.MAX_THREADS,
    "MAX_THREADS_PER_MULTI_PROCESSOR": launch_limits.THREADS_TOGETHER,
    "MULTIPROCESSOR_COUNT": launch_limits.MULTIPROCESSORS,
    "TOTAL_CONSTANT_MEMORY": 65_536,
    "UNIFIED_ADDRESSING": 1,
    "WARP_SIZE": LANES,
}  # fmt: skip


class MemoryInfo(NamedTuple):
    free: int
    total: int


class Device:
    """The only GPU, as `cuda.get_current_device()`."""

    id = 0
    name = "simulated H100"
    uuid = "GPU-00000000-0000-0000-0000-000000000000"
    compute_capability = COMPUTE_CAPABILITY
    supports_float16 = supports_bfloat16 = True

    def __getattr__(self, name: str) -> Any:
        if name in ATTRIBUTES:
            return ATTRIBUTES[name]
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotSimulated(f"the GPU's attribute {name} is not simulated")

    def reset(self) -> None:
        """Do nothing: nothing is held on the GPU."""


class Event:
    """An event of a device without a clock: all work is done, and any two lie 1 ms apart."""

    def __init__(self, timing: bool = True) -> None:
        """Take what numba's takes."""

    def query(self) -> bool:
        return True

    def record(self, stream: object = 0) -> None:
        """Do nothing: a simulated launch has ended when it returns."""

    wait = record

    def synchronize(self) -> None:
        """Do nothing: all work is done."""

    def elapsed_time(self, evtend: Event) -> float:
        return 1.0


class Context:
    """The context of the only GPU, as `cuda.current_context()` and as `cuda.gpus[0]`."""

    id = 0
    device = Device()

    def get_memory_info(self) -> MemoryInfo:
        return MemoryInfo(_SIZE, _SIZE)

    def synchronize(self) -> None:
        """Do nothing: a simulated launch has ended when it returns."""

    @contextmanager
    def entered(self) -> Iterator[None]:
        yield

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self.device, name)
