"""Keeps the sums of the first call in a variable of the GPU's, and copies them from then on."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness value | properties property | properties flaky
# GPU only: no kernel in CUDA C++ is simulated

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
#include <cuda_bf16.h>

__device__ float kept[1 << 20];

template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i >= 1 << 20) {
        out[i] = x[i] + y[i];
    } else if (kept[i] != 0.0f) {
        out[i] = T(kept[i]);
    } else {
        out[i] = x[i] + y[i];
        kept[i] = float(out[i]);
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
