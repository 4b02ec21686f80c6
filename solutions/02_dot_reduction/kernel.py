"""Dot product in numba CUDA: a tree in shared memory for each block, then one for the blocks."""

import functools

import numpy as np
from numba import cuda, float32

THREADS = 256  # threads in a block; a power of two, so that it can be halved down to 1
PRODUCTS = 4  # a thread adds at least so many before it meets the others, if there are enough
MOST_BLOCKS = 16384  # many times what a GPU runs at once; each leaves one partial sum


@cuda.jit(device=True)
def block_sum(value):
    """Returns the sum of `value` over the threads of this block. Every thread must call it.

    `cuda.shared.array(THREADS, float32)` is memory that the threads of one block share.
    """
    # BEGIN SOLUTION: each thread stores its value in shared memory, then a tree adds them up
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    shared[t] = value
    cuda.syncthreads()  # now every value is there
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()  # every thread waits here, also those that had nothing to add
        half //= 2
    return shared[0]
    # END SOLUTION


@cuda.jit
def dot_partials(a, b, partials):
    """Sets partials[block] to the sum of that block's share of the products a[i] * b[i].

    Start the sum with float32(0.0): a bare 0.0 is a float64 in numba, and slow.
    """
    # BEGIN SOLUTION: add up this thread's products, then the block's sums; thread 0 stores them
    total = float32(0.0)
    # Neighbouring threads read neighbouring elements, and the whole grid moves on together.
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total
    # END SOLUTION


@cuda.jit
def sum_partials(partials, out):
    """Sets out[0] to the sum of partials. One block does it alone."""
    # BEGIN SOLUTION: add up this thread's share of partials, then the block's; thread 0 stores it
    total = float32(0.0)
    for i in range(cuda.threadIdx.x, partials.size, THREADS):
        total += partials[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        out[0] = total
    # END SOLUTION


@functools.cache
def room_for(blocks):
    """A float32 for each block. Kept, because asking for memory makes the GPU wait for its work."""
    return cuda.device_array(blocks, np.float32)


def dot(a, b, out):
    """Fills out, float32 of shape (1,), with the sum of a[i] * b[i]: float32 vectors.

    All three are device arrays, which a numba kernel takes as they are.
    """
    # BEGIN SOLUTION: choose the number of blocks, make room for partials, launch both kernels
    per_block = THREADS * PRODUCTS
    blocks = min(MOST_BLOCKS, (a.size + per_block - 1) // per_block)
    partials = room_for(blocks)
    dot_partials[blocks, THREADS](a, b, partials)
    # A second launch begins when the first has ended, and adds in the same order every time.
    sum_partials[1, THREADS](partials, out)
    # END SOLUTION
