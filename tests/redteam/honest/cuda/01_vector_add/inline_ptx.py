"""Streams past the caches by inline PTX."""

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

THREADS = 256
NAMES = {torch.float32: "float", torch.bfloat16: "__nv_bfloat16"}

SOURCE = r"""
#include <cuda_bf16.h>
__device__ unsigned bits(const __nv_bfloat16* from) {
    unsigned short value;
    asm volatile("ld.global.cs.u16 %0, [%1];" : "=h"(value) : "l"(from));
    return value;
}

__device__ unsigned bits(const float* from) {
    unsigned value;
    asm volatile("ld.global.cs.u32 %0, [%1];" : "=r"(value) : "l"(from));
    return value;
}

template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned left = bits(x + i), right = bits(y + i);
    T a, b;
    memcpy(&a, &left, sizeof(T));
    memcpy(&b, &right, sizeof(T));
    out[i] = a + b;
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
    config = LaunchConfig(grid=-(-n // THREADS), block=THREADS)
    arguments = (x.data_ptr(), y.data_ptr(), out.data_ptr(), n)
    launch(Device().default_stream, config, compiled(x.dtype), *arguments)
