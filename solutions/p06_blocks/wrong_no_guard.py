"""No guard: threads of the last block that have no element read and write past the end.

Rejected at: correctness
"""

from numba import cuda

THREADS = 32


@cuda.jit
def add_place_kernel(a, out):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    out[i] = a[i] + i


def add_place(a, out):
    add_place_kernel[(a.size + THREADS - 1) // THREADS, THREADS](a, out)
