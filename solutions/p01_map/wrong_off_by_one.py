"""Threads count from 1, so that the last one reads past the end.

Rejected at: correctness
"""

from numba import cuda


@cuda.jit
def add_ten_kernel(a, out):
    i = cuda.threadIdx.x + 1
    out[i] = a[i] + 10


def add_ten(a, out):
    add_ten_kernel[1, a.size](a, out)
