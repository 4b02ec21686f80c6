"""Convolution: a weighted sum at each place, with a halo so that blocks need no other block."""

import math

from numba import cuda, float32

THREADS = 16  # in a block
WIDTH = 4  # weights
TILE = THREADS + WIDTH - 1  # elements that a block needs: its own, and the halo after them


@cuda.jit
def convolve_kernel(a, weights, out):
    """Runs once in every thread. The elements of its block begin at `start`."""
    shared = cuda.shared.array(TILE, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * THREADS
    # BEGIN SOLUTION: fill all TILE places of shared, with 0 beyond the end of a; then wait
    for place in range(t, TILE, THREADS):
        if start + place < a.size:
            shared[place] = a[start + place]
        else:
            shared[place] = 0
    cuda.syncthreads()
    # END SOLUTION
    if start + t < a.size:
        total = float32(0.0)
        for k in range(WIDTH):
            total += weights[k] * shared[t + k]
        out[start + t] = total


def convolve(a, weights, out):
    """Fills out: device arrays, a and out of one length, weights of WIDTH elements."""
    # BEGIN SOLUTION: write the kernel above, then delete this line
    # END SOLUTION
    blocks = math.ceil(a.size / THREADS)
    convolve_kernel[blocks, THREADS](a, weights, out)
