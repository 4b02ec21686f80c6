"""Adds, and writes by inline PTX far outside its tensors: at the arena's begin, and a TiB away."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness stray_write | correctness out_of_bounds | correctness input_changed
# GPU only: no kernel in CUDA C++ is simulated

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
#include <cuda_bf16.h>

__device__ void store(unsigned long long address, unsigned value) {
    asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(value));
}

template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n, unsigned long long begin) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
    if (i < 16) store(begin + 4 * i, (unsigned)i);
    if (i == 16 && n > 4096) store(begin + (1ull << 40), 1u);
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
    pointers = (x.data_ptr(), y.data_ptr(), out.data_ptr(), x.untyped_storage().data_ptr())
    launch(Device().default_stream, config, compiled(x.dtype), *pointers[:3], n, pointers[3])
