"""Map: add 10 to every element, one thread for each."""

from numba import cuda


@cuda.jit
def add_ten_kernel(a, out):
    """Runs once in every thread. There are as many threads as elements."""
    # BEGIN SOLUTION: out[i] is a[i] + 10, where i is the number of this thread
    i = cuda.threadIdx.x
    out[i] = a[i] + 10
    # END SOLUTION


def add_ten(a, out):
    """Fills out with a + 10: device arrays of one length, at most 128."""
    # BEGIN SOLUTION: write the kernel above, then delete this line
    # END SOLUTION
    add_ten_kernel[1, a.size](a, out)  # 1 block of a.size threads
