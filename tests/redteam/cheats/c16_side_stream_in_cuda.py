"""Launches on a stream of its own, where events of the default stream see no work."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness never_written | correctness value | speed early_answer
# harmless: at most 1.02
# GPU only: a clock

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
#include <cuda_bf16.h>

template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}
"""


@functools.cache
def compiled(dtype):
    name = f"add<{'float' if dtype == torch.float32 else '__nv_bfloat16'}>"
    program = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{Device().arch}"))
    return program.compile("cubin", name_expressions=(name,)).get_kernel(name)


@functools.cache
def beside():
    device = Device()
    device.set_current()
    return device.create_stream()


def vector_add(x, y, out):
    n = x.numel()
    config = LaunchConfig(grid=-(-n // 256), block=256)
    launch(beside(), config, compiled(x.dtype), x.data_ptr(), y.data_ptr(), out.data_ptr(), n)
