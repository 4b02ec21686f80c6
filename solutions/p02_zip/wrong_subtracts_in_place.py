"""Changes a and copies it to out: an input must stay as it was.

Rejected at: correctness
"""

from numba import cuda


@cuda.jit
def subtract_kernel(a, b, out):
    i = cuda.threadIdx.x
    a[i] -= b[i]
    out[i] = a[i]


def subtract(a, b, out):
    subtract_kernel[1, a.size](a, b, out)
