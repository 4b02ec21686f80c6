"""The maximum starts at 0: where a row is far below it, all exponentials are 0.

Rejected at: correctness
"""

import math

from numba import cuda, float32

THREADS = 32


@cuda.jit(device=True)
def block_max(value):
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
    highest = float32(0.0)
    total = float32(0.0)
    for column in range(t, columns, THREADS):
        highest = max(highest, x[row, column])
    highest = block_max(highest)
    for column in range(t, columns, THREADS):
        total += math.exp(x[row, column] - highest)
    total = block_sum(total)
    for column in range(t, columns, THREADS):
        out[row, column] = math.exp(x[row, column] - highest) / total


def softmax(x, out):
    softmax_kernel[x.shape[0], THREADS](x, out)
