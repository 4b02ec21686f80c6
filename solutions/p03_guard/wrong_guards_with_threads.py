"""The guard asks for the number of threads, not of elements: it lets all of them pass.

Rejected at: correctness
"""

from numba import cuda

THREADS = 64


@cuda.jit
def double_kernel(a, out):
    i = cuda.threadIdx.x
    if i < THREADS:
        out[i] = a[i] * 2


def double(a, out):
    double_kernel[1, THREADS](a, out)
