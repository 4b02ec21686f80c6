"""Blocks of 32 by 4 threads: rows are folded onto the first one, then that row is folded."""

import functools

import numpy as np
from numba import cuda, float32

WIDTH, HEIGHT = 32, 4
MOST_BLOCKS = 4096


@cuda.jit(device=True)
def block_sum(value):
    shared = cuda.shared.array((HEIGHT, WIDTH), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    shared[y, x] = value
    cuda.syncthreads()
    half = HEIGHT // 2
    while half > 0:
        if y < half:
            shared[y, x] += shared[y + half, x]
        cuda.syncthreads()
        half //= 2
    half = WIDTH // 2
    while half > 0:
        if y == 0 and x < half:
            shared[0, x] += shared[0, x + half]
        cuda.syncthreads()
        half //= 2
    return shared[0, 0]


@cuda.jit
def dot_partials(a, b, partials):
    number = cuda.threadIdx.y * WIDTH + cuda.threadIdx.x
    threads = WIDTH * HEIGHT
    total = float32(0.0)
    for i in range(cuda.blockIdx.x * threads + number, a.size, threads * cuda.gridDim.x):
        total += a[i] * b[i]
    total = block_sum(total)
    if number == 0:
        partials[cuda.blockIdx.x] = total


@cuda.jit
def sum_partials(partials, out):
    number = cuda.threadIdx.y * WIDTH + cuda.threadIdx.x
    total = float32(0.0)
    for i in range(number, partials.size, WIDTH * HEIGHT):
        total += partials[i]
    total = block_sum(total)
    if number == 0:
        out[0] = total


@functools.cache
def room_for(blocks):
    return cuda.device_array(blocks, np.float32)


def dot(a, b, out):
    per_block = 4 * WIDTH * HEIGHT
    blocks = min(MOST_BLOCKS, (a.size + per_block - 1) // per_block)
    partials = room_for(blocks)
    dot_partials[blocks, (WIDTH, HEIGHT)](a, b, partials)
    sum_partials[1, (WIDTH, HEIGHT)](partials, out)
