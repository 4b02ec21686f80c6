"""Map in 2-D: add 10 to every element of a table, one thread for each."""

from numba import cuda

THREADS = (16, 8)  # in the block: 16 in x direction, 8 in y direction


@cuda.jit
def add_ten_2d_kernel(a, out):
    """Runs once in every thread. There are at least as many threads as rows and columns."""
    # BEGIN SOLUTION: out[row, column] is a[row, column] + 10, in those threads that have an element
    row = cuda.threadIdx.y
    column = cuda.threadIdx.x
    if row < a.shape[0] and column < a.shape[1]:
        out[row, column] = a[row, column] + 10
    # END SOLUTION


def add_ten_2d(a, out):
    """Fills out with a + 10: device arrays of one shape, at most 8 rows and 16 columns."""
    # BEGIN SOLUTION: write the kernel above, then delete this line
    # END SOLUTION
    add_ten_2d_kernel[1, THREADS](a, out)  # 1 block of 16 × 8 threads
