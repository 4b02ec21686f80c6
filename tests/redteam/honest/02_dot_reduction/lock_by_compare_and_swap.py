"""One thread of each block adds to the output behind a lock, taken by compare and swap."""

import functools

import numpy as np
from numba import cuda, float32

THREADS = 64


@cuda.jit
def begin(out, lock):
    out[0] = 0.0
    lock[0] = 0


@cuda.jit
def locked(a, b, out, lock):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    total = float32(0.0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    shared[t] = total
    cuda.syncthreads()
    if t == 0:
        for i in range(1, THREADS):
            total += shared[i]
        while cuda.atomic.compare_and_swap(lock, 0, 1) != 0:
            pass
        cuda.threadfence()
        cuda.atomic.add(out, 0, total)
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


@functools.cache
def memory():
    return cuda.device_array(1, np.int32)


def dot(a, b, out):
    lock = memory()
    begin[1, 1](out, lock)
    locked[min(32, (a.size + THREADS - 1) // THREADS), THREADS](a, b, out, lock)
