"""One thread does all of a row, so that nothing is shared: right, and 31 others wait.

Rejected at: counts
"""

import math

from numba import cuda, float32

THREADS = 32


@cuda.jit
def softmax_kernel(x, out):
    row = cuda.blockIdx.x
    columns = x.shape[1]
    if cuda.threadIdx.x == 0:
        highest = float32(-math.inf)
        for column in range(columns):
            highest = max(highest, x[row, column])
        total = float32(0.0)
        for column in range(columns):
            total += math.exp(x[row, column] - highest)
        for column in range(columns):
            out[row, column] = math.exp(x[row, column] - highest) / total


def softmax(x, out):
    softmax_kernel[x.shape[0], THREADS](x, out)
