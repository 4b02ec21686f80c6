"""Guard: double every element, with more threads than elements."""

from numba import cuda

THREADS = 64  # in the block, however long the arrays are


@cuda.jit
def double_kernel(a, out):
    """Runs once in every thread. There are at least as many threads as elements."""
    # BEGIN SOLUTION: out[i] is a[i] * 2, in those threads that have an element
    i = cuda.threadIdx.x
    if i < a.size:
        out[i] = a[i] * 2
    # END SOLUTION


def double(a, out):
    """Fills out with a * 2: device arrays of one length, at most 64."""
    # BEGIN SOLUTION: write the kernel above, then delete this line
    # END SOLUTION
    double_kernel[1, THREADS](a, out)  # 1 block of 64 threads
