"""The threads of a block meet in one shared cell, to which each adds atomically."""

import functools

import numpy as np
from numba import cuda, float32

THREADS = 128
MOST_BLOCKS = 4096


@cuda.jit(device=True)
def block_sum(value):
    cell = cuda.shared.array(1, float32)
    if cuda.threadIdx.x == 0:
        cell[0] = float32(0.0)
    cuda.syncthreads()
    cuda.atomic.add(cell, 0, value)
    cuda.syncthreads()
    return cell[0]


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
    for i in range(cuda.threadIdx.x, partials.size, cuda.blockDim.x):
        total += partials[i]
    total = block_sum(total)
    if cuda.threadIdx.x == 0:
        out[0] = total


@functools.cache
def room_for(blocks):
    return cuda.device_array(blocks, np.float32)


def dot(a, b, out):
    blocks = min(MOST_BLOCKS, (a.size + 8 * THREADS - 1) // (8 * THREADS))
    partials = room_for(blocks)
    dot_partials[blocks, THREADS](a, b, partials)
    sum_partials[1, THREADS](partials, out)
