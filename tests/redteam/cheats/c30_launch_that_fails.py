"""Launches more threads than a block can have, hides the error, and hopes for the right garbage."""
# attacks: 02_dot_reduction
# stopped: correctness never_written

import contextlib

import numpy as np
from numba import cuda, float32


@cuda.jit
def _dot(a, b, out):
    shared = cuda.shared.array(65_792, float32)
    shared[cuda.threadIdx.x] = a[cuda.threadIdx.x] * b[cuda.threadIdx.x]
    cuda.syncthreads()
    out[0] = shared[0]


def dot(a, b, out):
    cuda.device_array(1, np.float32)
    with contextlib.suppress(Exception):
        _dot[1, 4096](a, b, out)
