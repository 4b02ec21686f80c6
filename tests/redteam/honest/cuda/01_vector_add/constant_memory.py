"""Reads the order of a thread's elements from constant memory."""

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

THREADS = 256
NAMES = {torch.float32: "float", torch.bfloat16: "__nv_bfloat16"}

SOURCE = r"""
#include <cuda_bf16.h>
__constant__ int order[4] = {2, 0, 3, 1};

template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n) {
    long long first = blockIdx.x * 4LL * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        long long i = first + order[k] * (long long)blockDim.x;
        if (i < n) out[i] = x[i] + y[i];
    }
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
    n = x.numel()
    config = LaunchConfig(grid=-(-n // (4 * THREADS)), block=THREADS)
    arguments = (x.data_ptr(), y.data_ptr(), out.data_ptr(), n)
    launch(Device().default_stream, config, compiled(x.dtype), *arguments)
