"""The tree ends one step early: the odd lanes are lost.

Rejected at: correctness
"""

from numba import cuda, float32

THREADS = 64
EVERY_LANE = 0xFFFFFFFF


@cuda.jit
def warp_sums_kernel(a, out):
    i = cuda.grid(1)
    lane = cuda.laneid
    value = float32(0.0)
    if i < a.size:
        value = a[i]
    by = 16
    while by > 1:
        value += cuda.shfl_down_sync(EVERY_LANE, value, by)
        by //= 2
    if lane == 0 and i < a.size:
        out[i // 32] = value


def warp_sums(a, out):
    blocks = (a.size + THREADS - 1) // THREADS
    warp_sums_kernel[blocks, THREADS](a, out)
