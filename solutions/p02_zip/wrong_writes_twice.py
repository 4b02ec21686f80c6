"""Keeps a[i] in out on the way: right, but out is written twice and read again.

Rejected at: traffic
"""

from numba import cuda


@cuda.jit
def subtract_kernel(a, b, out):
    i = cuda.threadIdx.x
    out[i] = a[i]
    out[i] -= b[i]


def subtract(a, b, out):
    subtract_kernel[1, a.size](a, b, out)
