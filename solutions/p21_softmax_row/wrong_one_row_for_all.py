"""The columns of the whole matrix are taken for one row.

Rejected at: correctness
"""

import math

from numba import cuda, float32

THREADS = 32
LOWEST = -math.inf


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
    t = cuda.threadIdx.x
    columns = x.shape[1]
    highest = float32(LOWEST)
    total = float32(0.0)
    for at in range(t, x.size, THREADS):
        highest = max(highest, x[at // columns, at % columns])
    highest = block_max(highest)
    for at in range(t, x.size, THREADS):
        total += math.exp(x[at // columns, at % columns] - highest)
    total = block_sum(total)
    for at in range(t, x.size, THREADS):
        out[at // columns, at % columns] = (
            math.exp(x[at // columns, at % columns] - highest) / total
        )


def softmax(x, out):
    softmax_kernel[1, THREADS](x, out)
