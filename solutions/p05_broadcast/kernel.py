"""Broadcast: a table of products, one thread for each."""

from numba import cuda

THREADS = (16, 8)  # in the block: 16 in x direction, 8 in y direction


@cuda.jit
def products_kernel(a, b, out):
    """Runs once in every thread. There are at least as many threads as rows and columns."""
    # BEGIN SOLUTION: out[row, column] is the product of an element of a and one of b: which ones?
    row = cuda.threadIdx.y
    column = cuda.threadIdx.x
    if row < a.size and column < b.size:
        out[row, column] = a[row] * b[column]
    # END SOLUTION


def products(a, b, out):
    """Fills the table out: a row for each of at most 8 a, a column for each of at most 16 b."""
    # BEGIN SOLUTION: write the kernel above, then delete this line
    # END SOLUTION
    products_kernel[1, THREADS](a, b, out)  # 1 block of 16 × 8 threads
