"""Rounds the number of blocks down, to none where there are fewer elements than threads.

Rejected at: correctness
"""

from numba import cuda

THREADS = 32


@cuda.jit
def add_place_kernel(a, out):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < a.size:
        out[i] = a[i] + i


def add_place(a, out):
    add_place_kernel[a.size // THREADS, THREADS](a, out)
