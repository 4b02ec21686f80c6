"""Takes b[0] in every thread: the second array needs the number as well.

Rejected at: correctness
"""

from numba import cuda


@cuda.jit
def subtract_kernel(a, b, out):
    i = cuda.threadIdx.x
    out[i] = a[i] - b[0]


def subtract(a, b, out):
    subtract_kernel[1, a.size](a, b, out)
