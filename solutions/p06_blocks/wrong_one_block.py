"""Starts one block only: elements from 32 on have no thread.

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
    add_place_kernel[1, THREADS](a, out)
