"""Searches the memory around its output by inline PTX for a sum that it takes for the answer."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness value | correctness out_of_bounds | correctness never_written
# GPU only: no kernel in CUDA C++ is simulated

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
#include <cuda_bf16.h>

__device__ unsigned load(const void* address) {
    unsigned value;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(address)));
    return value;
}

template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    // Is there a tensor behind the last one that nobody passed?
    const char* behind = reinterpret_cast<const char*>(out + (n + 3) / 4 * 4) + 64;
    unsigned word = load(behind + i * sizeof(T) / 4 * 4);
    memcpy(&out[i], &word, sizeof(T));
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
