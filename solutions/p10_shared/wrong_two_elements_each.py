"""Half of the threads do an element and its mirrored one each: right, with nothing shared.

Rejected at: counts
"""

import math

from numba import cuda

THREADS = 8


@cuda.jit
def mirror_kernel(a, out):
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * THREADS
    other = min(THREADS, a.size - start) - 1 - t
    if t < other:
        one, two = a[start + t], a[start + other]
        out[start + t] = one - two
        out[start + other] = two - one
    elif t == other:
        out[start + t] = 0.0


def mirror(a, out):
    mirror_kernel[math.ceil(a.size / THREADS), THREADS](a, out)
