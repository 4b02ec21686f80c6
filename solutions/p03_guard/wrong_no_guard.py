"""No guard: threads that have no element read and write past the end.

Rejected at: correctness
"""

from numba import cuda

THREADS = 64


@cuda.jit
def double_kernel(a, out):
    i = cuda.threadIdx.x
    out[i] = a[i] * 2


def double(a, out):
    double_kernel[1, THREADS](a, out)
