"""Grid-stride loop: halve every element, with a fixed number of threads."""

from numba import cuda

BLOCKS, THREADS = 2, 16  # 32 threads in the grid, however long the arrays are


@cuda.jit
def halve_kernel(a, out):
    """Runs once in every thread of every block."""
    # BEGIN SOLUTION: out[i] is a[i] / 2, for all those places i that are this thread's
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        out[i] = a[i] / 2
    # END SOLUTION


def halve(a, out):
    """Fills out with a / 2: device arrays of one length, which is any."""
    # BEGIN SOLUTION: write the kernel above, then delete this line
    # END SOLUTION
    halve_kernel[BLOCKS, THREADS](a, out)
