"""Shuffles add up the lanes; the first lane of a vote carries the sum on."""

import numpy as np
from numba import cuda, float32

THREADS = 256
WARPS = THREADS // 32  # a name, because numba asks for a constant


@cuda.jit(device=True)
def block_sum(value):
    sums = cuda.shared.array(WARPS, float32)
    distance = 16
    while distance > 0:
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, distance)
        distance //= 2
    votes = cuda.ballot_sync(0xFFFFFFFF, True)
    if cuda.laneid == cuda.ffs(votes) - 1:
        sums[cuda.threadIdx.x // 32] = value
    cuda.syncthreads()
    total = float32(0.0)
    for i in range(WARPS):
        total += sums[i]
    return total


@cuda.jit
def dot_partials(a, b, partials):
    total = float32(0.0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        partials[cuda.blockIdx.x] = total


@cuda.jit
def sum_partials(partials, out):
    total = float32(0.0)
    for i in range(cuda.threadIdx.x, partials.size, THREADS):
        total += partials[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        out[0] = total


def dot(a, b, out):
    blocks = min(1024, (a.size + THREADS - 1) // THREADS)
    partials = cuda.device_array(blocks, np.float32)
    dot_partials[blocks, THREADS](a, b, partials)
    sum_partials[1, THREADS](partials, out)
