"""Takes x for the row and y for the column: columns from 8 on have no thread.

Rejected at: correctness
"""

from numba import cuda

THREADS = (16, 8)


@cuda.jit
def products_kernel(a, b, out):
    row = cuda.threadIdx.x
    column = cuda.threadIdx.y
    if row < a.size and column < b.size:
        out[row, column] = a[row] * b[column]


def products(a, b, out):
    products_kernel[1, THREADS](a, b, out)
