"""Has a plain name for its kernel, and its type and body from macros."""

import functools

import torch
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

THREADS = 256
NAMES = {torch.float32: "float", torch.bfloat16: "__nv_bfloat16"}

SOURCE = r"""
#include <cuda_bf16.h>
#define FOR_EACH(i, n) \
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (n); \
         i += (long long)gridDim.x * blockDim.x)

extern "C" __global__ void add(const TYPE* x, const TYPE* y, TYPE* out, long long n) {
    FOR_EACH(i, n) out[i] = x[i] + y[i];
}
"""


@functools.cache
def compiled(dtype):
    options = ProgramOptions(arch=f"sm_{Device().arch}", define_macro=("TYPE", NAMES[dtype]))
    return Program(SOURCE, "c++", options).compile("cubin").get_kernel("add")


def vector_add(x, y, out):
    n = x.numel()
    config = LaunchConfig(grid=-(-n // THREADS), block=THREADS)
    arguments = (x.data_ptr(), y.data_ptr(), out.data_ptr(), n)
    launch(Device().default_stream, config, compiled(x.dtype), *arguments)
