"""Reads a without a bounds check: the last warp reads past the end.

Rejected at: correctness
On a GPU: may pass by luck, because it depends on what lies past the end.
"""

from numba import cuda

THREADS = 64
EVERY_LANE = 0xFFFFFFFF


@cuda.jit
def warp_sums_kernel(a, out):
    i = cuda.grid(1)
    value = a[i]
    by = 16
    while by > 0:
        value += cuda.shfl_down_sync(EVERY_LANE, value, by)
        by //= 2
    if cuda.laneid == 0 and i < a.size:
        out[i // 32] = value


def warp_sums(a, out):
    blocks = (a.size + THREADS - 1) // THREADS
    warp_sums_kernel[blocks, THREADS](a, out)
