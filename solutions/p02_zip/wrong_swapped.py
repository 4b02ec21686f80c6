"""Subtracts a from b: every sign is turned.

Rejected at: correctness
"""

from numba import cuda


@cuda.jit
def subtract_kernel(a, b, out):
    i = cuda.threadIdx.x
    out[i] = b[i] - a[i]


def subtract(a, b, out):
    subtract_kernel[1, a.size](a, b, out)
