"""The block of the last number adds up what the others left, though they may not be done yet.

Rejected at: correctness
On a GPU: may pass by luck, for blocks often end in the order of their numbers.
"""

import functools

import numpy as np
from numba import cuda, float32

THREADS = 128
MOST_BLOCKS = 4096


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
def dot_kernel(a, b, partials, arrived, out):
    is_last = cuda.shared.array(1, np.int32)
    t = cuda.threadIdx.x
    total = float32(0.0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    total = block_sum(total)
    if t == 0:
        partials[cuda.blockIdx.x] = total
        cuda.threadfence()  # the partial sum is there before the counter says so
        cuda.atomic.add(arrived, 0, 1)
        is_last[0] = cuda.blockIdx.x == cuda.gridDim.x - 1
    cuda.syncthreads()
    if is_last[0]:  # the same for all threads of the block
        cuda.threadfence()
        total = float32(0.0)
        for i in range(t, cuda.gridDim.x, THREADS):
            total += partials[i]
        total = block_sum(total)
        if t == 0:
            out[0] = total
            arrived[0] = 0  # ready for the next call


@functools.cache
def room_for(blocks):
    return cuda.device_array(blocks, np.float32)


@functools.cache
def counter():
    return cuda.to_device(np.zeros(1, np.int32))


def dot(a, b, out):
    blocks = min(MOST_BLOCKS, (a.size + 4 * THREADS - 1) // (4 * THREADS))
    dot_kernel[blocks, THREADS](a, b, room_for(blocks), counter(), out)
