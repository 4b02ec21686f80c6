"""Subtracts no maximum: exp of a large number overflows.

Rejected at: correctness
"""

import math

from numba import cuda, float32

THREADS = 32


@cuda.jit(device=True)
def block_sum(value):
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
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    columns = x.shape[1]
    total = float32(0.0)
    for column in range(t, columns, THREADS):
        total += math.exp(x[row, column])
    total = block_sum(total)
    for column in range(t, columns, THREADS):
        out[row, column] = math.exp(x[row, column]) / total


def softmax(x, out):
    softmax_kernel[x.shape[0], THREADS](x, out)
