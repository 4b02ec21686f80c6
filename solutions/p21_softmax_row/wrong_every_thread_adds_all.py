"""Each thread finds the maximum and the sum of the whole row by itself: 32 times the reads.

Rejected at: traffic
"""

import math

from numba import cuda, float32

THREADS = 32
LOWEST = -math.inf


@cuda.jit
def softmax_kernel(x, out):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    columns = x.shape[1]
    highest = float32(LOWEST)
    total = float32(0.0)
    for column in range(columns):
        highest = max(highest, x[row, column])
    for column in range(columns):
        total += math.exp(x[row, column] - highest)
    for column in range(t, columns, THREADS):
        out[row, column] = math.exp(x[row, column] - highest) / total


def softmax(x, out):
    softmax_kernel[x.shape[0], THREADS](x, out)
