"""Softmax of each row by one block: a maximum, a sum, and then the answer."""

import math

from numba import cuda, float32

THREADS = 32  # threads in a block; a row may have more elements than that
LOWEST = -math.inf  # no number is lower: a maximum begins with it


@cuda.jit(device=True)
def block_max(value):
    """Returns the largest `value` of the threads of this block. Every thread must call it."""
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    shared[t] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] = max(shared[t], shared[t + half])
        cuda.syncthreads()
        half //= 2
    return shared[0]


@cuda.jit(device=True)
def block_sum(value):
    """Returns the sum of `value` over the threads of this block. Every thread must call it."""
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    shared[t] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    return shared[0]


@cuda.jit
def softmax_kernel(x, out):
    """Block r turns row r of x into row r of out."""
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    columns = x.shape[1]
    highest = float32(LOWEST)
    total = float32(0.0)
    for column in range(t, columns, THREADS):
        highest = max(highest, x[row, column])
    for column in range(t, columns, THREADS):
        total += math.exp(x[row, column] - highest)
    total = block_sum(total)
    for column in range(t, columns, THREADS):
        out[row, column] = math.exp(x[row, column] - highest) / total


def softmax(x, out):
    """Fills out with the softmax of each row of x: float32 device arrays of one shape."""
    softmax_kernel[x.shape[0], THREADS](x, out)  # a block for each row
