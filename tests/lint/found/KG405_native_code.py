"""Calls past the libraries."""

import ctypes
from torch.utils.cpp_extension import load_inline

from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    ctypes.CDLL("libcuda.so").cuInit(0)  # KG405
    load_inline("mine", "")  # KG405
    double[1, 32](x, out)
