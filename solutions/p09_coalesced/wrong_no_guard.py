"""Does not look where the array ends: the last block reads and writes past it.

Rejected at: correctness
On a GPU: may pass by luck. What lies after the array belongs to the process, and is not looked at.
"""

import math

from numba import cuda

THREADS = 32
EACH = 8
BLOCK = THREADS * EACH


@cuda.jit
def negate_kernel(a, out):
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * BLOCK
    for step in range(EACH):
        i = start + step * THREADS + t
        out[i] = -a[i]


def negate(a, out):
    blocks = math.ceil(a.size / BLOCK)
    negate_kernel[blocks, THREADS](a, out)
