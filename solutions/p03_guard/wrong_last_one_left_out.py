"""The guard leaves out the last element too: it is never written.

Rejected at: correctness
"""

from numba import cuda

THREADS = 64


@cuda.jit
def double_kernel(a, out):
    i = cuda.threadIdx.x
    if i < a.size - 1:
        out[i] = a[i] * 2


def double(a, out):
    double_kernel[1, THREADS](a, out)
