"""Takes the column for a and the row for b: past the end unless the table is square.

Rejected at: correctness
"""

from numba import cuda

THREADS = (16, 8)


@cuda.jit
def products_kernel(a, b, out):
    row = cuda.threadIdx.y
    column = cuda.threadIdx.x
    if row < a.size and column < b.size:
        out[row, column] = a[column] * b[row]


def products(a, b, out):
    products_kernel[1, THREADS](a, b, out)
