"""All products are stored before they are added up: as much memory again as one of the vectors.

Rejected at: memory
"""

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


@cuda.jit
def multiply(a, b, products):
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        products[i] = a[i] * b[i]


@cuda.jit
def block_partials(products, partials):
    total = float32(0.0)
    # Neighbouring threads read neighbouring elements, and the whole grid moves on together.
    for i in range(cuda.grid(1), products.size, cuda.gridsize(1)):
        total += products[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total


@cuda.jit
def sum_partials(partials, out):
    """Sets out[0] to the sum of partials. One block does it alone."""
    total = float32(0.0)
    for i in range(cuda.threadIdx.x, partials.size, THREADS):
        total += partials[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        out[0] = total


def dot(a, b, out):
    """Fills out, float32 of shape (1,), with the sum of a[i] * b[i]: float32 vectors.

    All three are device arrays, which a numba kernel takes as they are.
    """
    per_block = THREADS * PRODUCTS
    blocks = min(MOST_BLOCKS, (a.size + per_block - 1) // per_block)
    partials = cuda.device_array(blocks, np.float32)
    products = cuda.device_array(a.size, np.float32)  # here: a sum needs no room for its terms
    multiply[blocks, THREADS](a, b, products)
    block_partials[blocks, THREADS](products, partials)
    # A second launch begins when the first has ended, and adds in the same order every time.
    sum_partials[1, THREADS](partials, out)
