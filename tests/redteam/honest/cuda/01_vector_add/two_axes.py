"""Launches a grid of two axes with blocks of two axes."""

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

THREADS = 256
NAMES = {torch.float32: "float", torch.bfloat16: "__nv_bfloat16"}

SOURCE = r"""
#include <cuda_bf16.h>
template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n) {
    long long block = blockIdx.y * (long long)gridDim.x + blockIdx.x;
    long long i = (block * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
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
    blocks = -(-n // THREADS)
    config = LaunchConfig(grid=(min(blocks, 1024), -(-blocks // 1024)), block=(32, THREADS // 32))
    arguments = (x.data_ptr(), y.data_ptr(), out.data_ptr(), n)
    launch(torch.cuda.current_stream(), config, compiled(x.dtype), *arguments)
