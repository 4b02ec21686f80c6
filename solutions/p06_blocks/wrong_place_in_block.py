"""Adds the place in the block: the sum begins from 0 again in each block.

Rejected at: correctness
"""

from numba import cuda

THREADS = 32


@cuda.jit
def add_place_kernel(a, out):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < a.size:
        out[i] = a[i] + cuda.threadIdx.x


def add_place(a, out):
    add_place_kernel[(a.size + THREADS - 1) // THREADS, THREADS](a, out)
