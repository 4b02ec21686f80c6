"""Products go to a tile in shared memory first; each thread of one warp adds a column of it."""

import functools

import numpy as np
from numba import cuda, float32

THREADS = 128
COLUMNS = 32
ROWS = THREADS // COLUMNS  # a name, because numba asks for a constant
MOST_BLOCKS = 4096


@cuda.jit(device=True)
def block_sum(value):
    tile = cuda.shared.array((ROWS, COLUMNS), float32)
    sums = cuda.shared.array(COLUMNS, float32)
    t = cuda.threadIdx.x
    tile[t // COLUMNS, t % COLUMNS] = value
    cuda.syncthreads()
    if t < COLUMNS:
        total = tile[0, t]
        for row in range(1, ROWS):
            total += tile[row, t]
        sums[t] = total
    cuda.syncthreads()
    if t == 0:
        total = sums[0]
        for column in range(1, COLUMNS):
            total += sums[column]
        sums[0] = total
    cuda.syncthreads()
    return sums[0]


@cuda.jit
def dot_partials(a, b, partials):
    total = float32(0.0)
    for start in range(cuda.blockIdx.x * THREADS, a.size, cuda.gridDim.x * THREADS):
        i = start + cuda.threadIdx.x
        if i < a.size:
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
