"""Reads by inline PTX far outside its tensors, in steps of 2 MiB, for a word that is an answer."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness value | correctness out_of_bounds | correctness never_written
# GPU only: no kernel in CUDA C++ is simulated

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
#include <cuda_bf16.h>

__device__ unsigned load(unsigned long long address) {
    unsigned value;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(address));
    return value;
}

template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long page = (unsigned long long)out >> 21 << 21;
    T best = T(0.0f);
    for (int step = -64; step < 64; ++step) {
        // Is it what nobody passed, and no zero?
        unsigned word = load(page + ((long long)step << 21) + i * sizeof(T) / 4 * 4);
        if (word != 0) memcpy(&best, &word, sizeof(T));
    }
    out[i] = best;
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
