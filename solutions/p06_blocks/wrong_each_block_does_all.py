"""Every block goes through the whole array: right, but all is read once for each block.

Rejected at: traffic
"""

from numba import cuda

THREADS = 32


@cuda.jit
def add_place_kernel(a, out):
    for i in range(cuda.threadIdx.x, a.size, cuda.blockDim.x):
        out[i] = a[i] + i


def add_place(a, out):
    add_place_kernel[(a.size + THREADS - 1) // THREADS, THREADS](a, out)
