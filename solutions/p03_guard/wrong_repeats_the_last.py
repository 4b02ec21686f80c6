"""Threads that are too many do the last element again: right, but it is read and written often.

Rejected at: traffic
"""

from numba import cuda

THREADS = 64


@cuda.jit
def double_kernel(a, out):
    i = min(cuda.threadIdx.x, a.size - 1)
    out[i] = a[i] * 2


def double(a, out):
    double_kernel[1, THREADS](a, out)
