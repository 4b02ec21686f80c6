"""Threads without an element write a 0, as if out were as long as the block.

Rejected at: correctness
"""

from numba import cuda

THREADS = 64


@cuda.jit
def double_kernel(a, out):
    i = cuda.threadIdx.x
    if i < a.size:
        out[i] = a[i] * 2
    else:
        out[i] = 0


def double(a, out):
    double_kernel[1, THREADS](a, out)
