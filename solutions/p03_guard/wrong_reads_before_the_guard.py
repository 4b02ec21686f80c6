"""Reads before it asks: only the write is guarded, and the read is past the end.

Rejected at: correctness
On a GPU: may pass by luck, for what lies past the end is read and not used
"""

from numba import cuda

THREADS = 64


@cuda.jit
def double_kernel(a, out):
    i = cuda.threadIdx.x
    value = a[i]
    if i < a.size:
        out[i] = value * 2


def double(a, out):
    double_kernel[1, THREADS](a, out)
