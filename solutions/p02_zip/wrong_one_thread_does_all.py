"""One thread does all pairs, and the others do nothing: right, and as slow as no GPU.

Rejected at: counts
"""

from numba import cuda


@cuda.jit
def subtract_kernel(a, b, out):
    if cuda.threadIdx.x == 0:
        for i in range(a.size):
            out[i] = a[i] - b[i]


def subtract(a, b, out):
    subtract_kernel[1, a.size](a, b, out)
