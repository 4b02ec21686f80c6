"""Warps add up by shuffles, and shared memory only carries one sum for each warp."""

# GPU only: the simulator has no warp shuffles.

import functools

import numpy as np
from numba import cuda, float32

THREADS = 256
WARP = 32
WARPS = THREADS // WARP  # a name, because numba asks for a constant
MOST_BLOCKS = 8192


@cuda.jit(device=True)
def warp_sum(value):
    distance = WARP // 2
    while distance > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, distance)
        distance //= 2
    return value


@cuda.jit(device=True)
def block_sum(value):
    sums = cuda.shared.array(WARPS, float32)
    t = cuda.threadIdx.x
    value = warp_sum(value)
    if t % WARP == 0:
        sums[t // WARP] = value
    cuda.syncthreads()
    value = float32(0.0)
    if t < WARPS:
        value = sums[t]
    return warp_sum(value)  # right in thread 0


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


@functools.cache
def room_for(blocks):
    return cuda.device_array(blocks, np.float32)


def dot(a, b, out):
    blocks = min(MOST_BLOCKS, (a.size + 4 * THREADS - 1) // (4 * THREADS))
    partials = room_for(blocks)
    dot_partials[blocks, THREADS](a, b, partials)
    sum_partials[1, THREADS](partials, out)
