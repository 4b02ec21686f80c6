"""Has one thread wait for a word that nobody writes."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness timeout
# GPU only: no kernel in CUDA C++ is simulated

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = r"""
#include <cuda_bf16.h>

template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n) {
    volatile T* word = out;
    while (true) {
        if (float(const_cast<T&>(word[0])) == 12345.0f) break;
        __nanosleep(100);
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
