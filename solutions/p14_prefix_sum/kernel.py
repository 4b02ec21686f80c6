"""Prefix sum: at each place, the sum of all elements of the block up to there."""

import math

from numba import cuda, float32

THREADS = 32  # in a block


@cuda.jit
def prefix_sum_kernel(a, out):
    """Runs once in every thread."""
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < a.size:
        shared[t] = a[i]
    else:
        shared[t] = 0
    cuda.syncthreads()
    # BEGIN SOLUTION: for by = 1, 2, 4, ... below THREADS: add the number `by` places back
    by = 1
    while by < THREADS:
        before = float32(0.0)
        if t >= by:
            before = shared[t - by]
        cuda.syncthreads()  # all have read: now the numbers may change
        shared[t] += before
        cuda.syncthreads()  # all have written: now they may be read again
        by *= 2
    # END SOLUTION
    if i < a.size:
        out[i] = shared[t]


def prefix_sum(a, out):
    """Fills out: device arrays of one length."""
    # BEGIN SOLUTION: write the kernel above, then delete this line
    # END SOLUTION
    blocks = math.ceil(a.size / THREADS)
    prefix_sum_kernel[blocks, THREADS](a, out)
