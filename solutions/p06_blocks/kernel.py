"""Blocks: add its place to every element, with as many blocks as it takes."""

from numba import cuda

THREADS = 32  # in each block


@cuda.jit
def add_place_kernel(a, out):
    """Runs once in every thread of every block. There are at least as many as elements."""
    # BEGIN SOLUTION: out[i] is a[i] + i, where i counts the threads of all blocks
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < a.size:
        out[i] = a[i] + i
    # END SOLUTION


def blocks_for(elements):
    """How many blocks of THREADS threads it takes to have one thread for each element."""
    # BEGIN SOLUTION: write the kernel above, then the number of blocks here
    return (elements + THREADS - 1) // THREADS
    # END SOLUTION


def add_place(a, out):
    """Fills out[i] with a[i] + i: device arrays of one length, which is any."""
    add_place_kernel[blocks_for(a.size), THREADS](a, out)
