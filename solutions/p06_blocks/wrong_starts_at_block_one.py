"""Counts blocks from 1: the first 32 elements have no thread.

Rejected at: correctness
"""

from numba import cuda

THREADS = 32


@cuda.jit
def add_place_kernel(a, out):
    i = (cuda.blockIdx.x + 1) * cuda.blockDim.x + cuda.threadIdx.x
    if i < a.size:
        out[i] = a[i] + i


def add_place(a, out):
    add_place_kernel[(a.size + THREADS - 1) // THREADS, THREADS](a, out)
