"""A small kernel in CUDA C++: `grader doctor` runs it to check that NVRTC and launches work."""

from __future__ import annotations

import functools
from typing import Any

from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

THREADS = 128
SOURCE = r"""
extern "C" __global__ void add(const float* a, const float* b, float* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
"""


@functools.cache
def _add() -> Any:
    options = ProgramOptions(std="c++17", arch=f"sm_{Device().arch}")
    return Program(SOURCE, "c++", options).compile("cubin").get_kernel("add")


def add(a: Any, b: Any, out: Any) -> None:
    """`out` = `a` + `b`, all float32 of one length."""
    n = out.numel()
    gpu = Device()
    gpu.set_current()
    config = LaunchConfig(grid=-(-n // THREADS), block=THREADS)
    launch(gpu.default_stream, config, _add(), a.data_ptr(), b.data_ptr(), out.data_ptr(), n)
