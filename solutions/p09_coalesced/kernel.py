"""Coalesced: change the sign of every element, several for each thread."""

import math

from numba import cuda

THREADS = 32  # in a block: one warp
EACH = 8  # elements for each thread
BLOCK = THREADS * EACH  # elements for each block


@cuda.jit
def negate_kernel(a, out):
    """Runs once in every thread. The elements of its block begin at `start`."""
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    # BEGIN SOLUTION: EACH times: out[i] = -a[i], where neighbouring threads have neighbouring i
    for step in range(EACH):
        i = start + step * THREADS + t
        if i < a.size:
            out[i] = -a[i]
    # END SOLUTION


def negate(a, out):
    """Fills out with -a: device arrays of one length."""
    # BEGIN SOLUTION: write the kernel above, then delete this line
    # END SOLUTION
    blocks = math.ceil(a.size / BLOCK)
    negate_kernel[blocks, THREADS](a, out)
