"""Axis sum: the sum of each row of a matrix, one block for each row."""

from numba import cuda, float32

THREADS = 32  # in a block; a power of two, so that it can be halved down to 1


@cuda.jit
def row_sums_kernel(a, out):
    """Runs once in every thread. There are as many blocks as rows."""
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    # BEGIN SOLUTION: add up this thread's elements of the block's row, and put the sum into shared
    row = cuda.blockIdx.x
    total = float32(0.0)
    for column in range(t, a.shape[1], THREADS):
        total += a[row, column]
    shared[t] = total
    # END SOLUTION
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    # BEGIN SOLUTION: one thread writes the sum of the row
    if t == 0:
        out[row] = shared[0]
    # END SOLUTION


def row_sums(a, out):
    """Fills out, one element for each row of a: device arrays."""
    # BEGIN SOLUTION: write the kernel above, then delete this line
    # END SOLUTION
    row_sums_kernel[a.shape[0], THREADS](a, out)
