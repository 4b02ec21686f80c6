"""A map of pairs, not a table: only places whose row is their column are written.

Rejected at: correctness
"""

from numba import cuda

THREADS = (16, 8)


@cuda.jit
def products_kernel(a, b, out):
    row = cuda.threadIdx.y
    column = cuda.threadIdx.x
    if row < a.size and column < b.size and row == column:
        out[row, column] = a[row] * b[column]


def products(a, b, out):
    products_kernel[1, THREADS](a, b, out)
