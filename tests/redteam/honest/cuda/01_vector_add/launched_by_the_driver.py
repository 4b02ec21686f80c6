"""Launches by the driver's own call, and not by cuda.core."""
# GPU only: the driver launches

import ctypes
import functools

import torch
from cuda.bindings import driver
from cuda.core import Device, Program, ProgramOptions

THREADS = 256
NAMES = {torch.float32: "float", torch.bfloat16: "__nv_bfloat16"}

SOURCE = r"""
#include <cuda_bf16.h>
template <typename T>
__global__ void add(const T* x, const T* y, T* out, long long n) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += step)
        out[i] = x[i] + y[i];
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
    values = [ctypes.c_uint64(each.data_ptr()) for each in (x, y, out)] + [ctypes.c_int64(n)]
    addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    grid, block = (-(-n // THREADS), 1, 1), (THREADS, 1, 1)
    (error,) = driver.cuLaunchKernel(
        int(compiled(x.dtype).handle), *grid, *block, 0, 0, ctypes.addressof(addresses), 0
    )
    assert error == driver.CUresult.CUDA_SUCCESS
