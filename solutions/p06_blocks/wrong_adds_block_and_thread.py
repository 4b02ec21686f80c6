"""Adds the two numbers: each block begins only one element after the last.

Rejected at: correctness
"""

from numba import cuda

THREADS = 32


@cuda.jit
def add_place_kernel(a, out):
    i = cuda.blockIdx.x + cuda.threadIdx.x
    if i < a.size:
        out[i] = a[i] + i


def add_place(a, out):
    add_place_kernel[(a.size + THREADS - 1) // THREADS, THREADS](a, out)
