"""Lane 0 alone reads and adds all elements of its warp: right, with no shuffle at all.

Rejected at: counts
"""

from numba import cuda, float32

THREADS = 64
LANES = 32


@cuda.jit
def warp_sums_kernel(a, out):
    i = cuda.grid(1)
    if cuda.laneid == 0 and i < a.size:
        value = float32(0.0)
        for other in range(i, min(i + LANES, a.size)):
            value += a[other]
        out[i // LANES] = value


def warp_sums(a, out):
    blocks = (a.size + THREADS - 1) // THREADS
    warp_sums_kernel[blocks, THREADS](a, out)
