"""Every lane stores, though only lane 0 has the sum.

Rejected at: correctness
On a GPU: may pass by luck. All 32 lanes store at once, and the one that counts may be the last.
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
    if i < a.size:
        out[i // 32] = value


def warp_sums(a, out):
    blocks = (a.size + THREADS - 1) // THREADS
    warp_sums_kernel[blocks, THREADS](a, out)
