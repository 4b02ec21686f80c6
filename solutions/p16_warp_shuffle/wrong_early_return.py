"""Threads past the end return before the shuffles: the other lanes ask for their values.

Rejected at: correctness
On a GPU: may pass by luck, because what a lane gets from one that has ended is undefined.
"""

from numba import cuda

THREADS = 64
EVERY_LANE = 0xFFFFFFFF


@cuda.jit
def warp_sums_kernel(a, out):
    i = cuda.grid(1)
    if i >= a.size:
        return
    value = a[i]
    by = 16
    while by > 0:
        value += cuda.shfl_down_sync(EVERY_LANE, value, by)
        by //= 2
    if cuda.laneid == 0:
        out[i // 32] = value


def warp_sums(a, out):
    blocks = (a.size + THREADS - 1) // THREADS
    warp_sums_kernel[blocks, THREADS](a, out)
