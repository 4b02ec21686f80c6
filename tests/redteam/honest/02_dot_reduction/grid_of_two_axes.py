"""The vector is read as rows of 64 by a grid of two axes, in strides along both."""

import functools

import numpy as np
from numba import cuda, float32

WIDTH = 64
SHAPE = (8, 16)
BLOCKS = (4, 4)


@cuda.jit
def own_sums(a, b, sums):
    row, column = cuda.grid(2)
    rows, columns = cuda.gridsize(2)
    total = float32(0.0)
    for r in range(row, (a.size + WIDTH - 1) // WIDTH, rows):
        for c in range(column, WIDTH, columns):
            i = r * WIDTH + c
            if i < a.size:
                total += a[i] * b[i]
    sums[row, column] = total


@cuda.jit
def folded(sums, out):
    t = cuda.threadIdx.x
    shared = cuda.shared.array(32, float32)
    total = float32(0.0)
    for row in range(t, sums.shape[0], 32):
        for column in range(sums.shape[1]):
            total += sums[row, column]
    shared[t] = total
    cuda.syncthreads()
    if t == 0:
        total = float32(0.0)
        for i in range(32):
            total += shared[i]
        out[0] = total


@functools.cache
def memory():
    shape = BLOCKS[0] * SHAPE[0], BLOCKS[1] * SHAPE[1]
    return cuda.device_array(shape, np.float32)


def dot(a, b, out):
    sums = memory()
    own_sums[BLOCKS, SHAPE](a, b, sums)
    folded[1, 32](sums, out)
