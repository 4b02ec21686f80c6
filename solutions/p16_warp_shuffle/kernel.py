"""Warp shuffle: the 32 threads of a warp add up their values without shared memory."""

from numba import cuda, float32

THREADS = 64  # threads in a block: two warps
EVERY_LANE = 0xFFFFFFFF  # as a mask: 32 bits that are 1, so that all lanes of a warp take part


@cuda.jit
def warp_sums_kernel(a, out):
    """Thread i brings a[i]; its warp leaves the sum of its 32 values in out[i // 32]."""
    i = cuda.grid(1)
    lane = cuda.laneid  # 0 to 31: the number of this thread in its warp
    value = float32(0.0)  # what a thread past the end brings
    if i < a.size:
        value = a[i]
    # BEGIN SOLUTION: add the values of the warp up by shuffles; lane 0 writes the sum to out
    by = 16
    while by > 0:
        value += cuda.shfl_down_sync(EVERY_LANE, value, by)
        by //= 2
    if lane == 0 and i < a.size:
        out[i // 32] = value
    # END SOLUTION


def warp_sums(a, out):
    """Fills out with the sums of each 32 elements of a: float32 device arrays."""
    # BEGIN SOLUTION: write the kernel above, then delete this line
    # END SOLUTION
    blocks = (a.size + THREADS - 1) // THREADS
    warp_sums_kernel[blocks, THREADS](a, out)
