"""Writes to out[column, row]: rows and columns change places.

Rejected at: correctness
"""

from numba import cuda

THREADS = (16, 8)


@cuda.jit
def products_kernel(a, b, out):
    row = cuda.threadIdx.y
    column = cuda.threadIdx.x
    if row < a.size and column < b.size:
        out[column, row] = a[row] * b[column]


def products(a, b, out):
    products_kernel[1, THREADS](a, b, out)
