"""The number of blocks is rounded down: the last warps are never started.

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
    while by > 0:
        value += cuda.shfl_down_sync(EVERY_LANE, value, by)
        by //= 2
    if lane == 0 and i < a.size:
        out[i // 32] = value


def warp_sums(a, out):
    warp_sums_kernel[max(1, a.size // THREADS), THREADS](a, out)
