"""Promises that vectors do not overlap, and loads by the read-only path."""

import functools

import numpy as np
import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

THREADS = 256
NAMES = {torch.float32: "float", torch.bfloat16: "__nv_bfloat16"}

SOURCE = r"""
#include <cuda_bf16.h>
template <typename T>
__global__ void add(const T* __restrict__ x, const T* __restrict__ y, T* __restrict__ out,
                    unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __ldg(x + i) + __ldg(y + i);
}
"""


@functools.cache
def compiled(dtype):
    device = Device()
    device.set_current()
    name = f"add<{NAMES[dtype]}>"
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    return Program(SOURCE, "c++", options).compile("cubin", (name,)).get_kernel(name)


def vector_add(x, y, out):
    n = np.uint32(x.numel())
    config = LaunchConfig(grid=-(-x.numel() // THREADS), block=(THREADS, 1, 1))
    arguments = (x.data_ptr(), y.data_ptr(), out.data_ptr(), n)
    launch(Device().default_stream, config, compiled(x.dtype), *arguments)
