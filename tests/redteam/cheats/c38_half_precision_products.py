"""Multiplies in half precision and adds in single precision, as a tensor core would."""
# attacks: 02_dot_reduction
# stopped: correctness value | correctness not_finite

import numpy as np
from numba import cuda, float32

THREADS = 128


@cuda.jit
def products(a, b, partials):
    total = float32(0.0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += float32(np.float16(a[i])) * float32(np.float16(b[i]))
    partials[cuda.grid(1)] = total


@cuda.jit
def add_up(partials, out):
    total = float32(0.0)
    for i in range(partials.size):
        total += partials[i]
    out[0] = total


def dot(a, b, out):
    partials = cuda.device_array(4 * THREADS, np.float32)
    products[4, THREADS](a, b, partials)
    add_up[1, 1](partials, out)
