"""Takes the element of b that stands one further: the last thread reads past its end.

Rejected at: correctness
"""

from numba import cuda


@cuda.jit
def subtract_kernel(a, b, out):
    i = cuda.threadIdx.x
    out[i] = a[i] - b[i + 1]


def subtract(a, b, out):
    subtract_kernel[1, a.size](a, b, out)
