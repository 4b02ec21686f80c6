"""The number of threads is the one of the lesson, whatever the length is.

Rejected at: correctness
"""

from numba import cuda


@cuda.jit
def subtract_kernel(a, b, out):
    i = cuda.threadIdx.x
    out[i] = a[i] - b[i]


def subtract(a, b, out):
    subtract_kernel[1, 4](a, b, out)
