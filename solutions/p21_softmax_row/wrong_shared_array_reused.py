"""Both trees use one array, with no barrier between them: the sum overwrites the maximum.

Rejected at: correctness
On a GPU: may pass by luck, because the block is one warp, which often runs in step.
"""

import math

from numba import cuda, float32

THREADS = 32
LOWEST = -math.inf


@cuda.jit
def softmax_kernel(x, out):
    shared = cuda.shared.array(THREADS, float32)
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    columns = x.shape[1]
    shared[t] = LOWEST
    for column in range(t, columns, THREADS):
        shared[t] = max(shared[t], x[row, column])
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] = max(shared[t], shared[t + half])
        cuda.syncthreads()
        half //= 2
    highest = shared[0]
    shared[t] = 0.0
    for column in range(t, columns, THREADS):
        shared[t] += math.exp(x[row, column] - highest)
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    for column in range(t, columns, THREADS):
        out[row, column] = math.exp(x[row, column] - highest) / shared[0]


def softmax(x, out):
    softmax_kernel[x.shape[0], THREADS](x, out)
