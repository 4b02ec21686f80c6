"""No guard: threads without a place in the table read past the ends of a and b.

Rejected at: correctness
"""

from numba import cuda

THREADS = (16, 8)


@cuda.jit
def products_kernel(a, b, out):
    row = cuda.threadIdx.y
    column = cuda.threadIdx.x
    out[row, column] = a[row] * b[column]


def products(a, b, out):
    products_kernel[1, THREADS](a, b, out)
