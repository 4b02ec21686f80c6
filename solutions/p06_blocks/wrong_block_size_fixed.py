"""Takes 4 threads a block, as in the lesson's drawing, where each has 32.

Rejected at: correctness
"""

from numba import cuda

THREADS = 32


@cuda.jit
def add_place_kernel(a, out):
    i = cuda.blockIdx.x * 4 + cuda.threadIdx.x
    if i < a.size:
        out[i] = a[i] + i


def add_place(a, out):
    add_place_kernel[(a.size + THREADS - 1) // THREADS, THREADS](a, out)
