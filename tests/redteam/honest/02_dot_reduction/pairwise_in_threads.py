"""Pairwise summation in each thread: a stack of sums of 1, 2, 4, ... terms, kept like a counter."""

import functools

import numpy as np
from numba import cuda, float32

THREADS = 64
LEVELS = 28  # for up to 2**28 terms a thread
MOST_BLOCKS = 8192


@cuda.jit(device=True)
def block_sum(value):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    shared[t] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    return shared[0]


@cuda.jit
def dot_partials(a, b, partials):
    stack = cuda.local.array(LEVELS, float32)
    count = 0
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        value = a[i] * b[i]
        level = 0
        bits = count
        while bits & 1:  # two sums of the same number of terms become one of twice as many
            value += stack[level]
            level += 1
            bits >>= 1
        stack[level] = value
        count += 1
    total = float32(0.0)
    for level in range(LEVELS):
        if (count >> level) & 1:
            total += stack[level]
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
    blocks = min(MOST_BLOCKS, (a.size + 8 * THREADS - 1) // (8 * THREADS))
    partials = room_for(blocks)
    dot_partials[blocks, THREADS](a, b, partials)
    sum_partials[1, THREADS](partials, out)
