"""Adds, and writes by inline PTX in front of its output and behind it."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness stray_write | correctness out_of_bounds
# GPU only: no kernel in CUDA C++ is simulated

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
#include <cuda_bf16.h>

__device__ void store(const void* address, unsigned value) {
    asm volatile("st.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(address)), "r"(value));
}

template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
    if (i < 16) {
        store(reinterpret_cast<char*>(out) - 64 + 4 * i, i);
        store(reinterpret_cast<char*>(out + (n + 3) / 4 * 4) + 4 * i, i);
    }
}
"""


@functools.cache
def compiled(dtype):
    name = f"add<{'float' if dtype == torch.float32 else '__nv_bfloat16'}>"
    program = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{Device().arch}"))
    return program.compile("cubin", name_expressions=(name,)).get_kernel(name)


def vector_add(x, y, out):
    n = x.numel()
    config = LaunchConfig(grid=-(-n // 256), block=256)
    pointers = (x.data_ptr(), y.data_ptr(), out.data_ptr())
    launch(Device().default_stream, config, compiled(x.dtype), *pointers, n)
