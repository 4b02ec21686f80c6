"""Writes zeros over one of two vectors, the cheapest of all to multiply with."""
# attacks: 02_dot_reduction
# stopped: correctness input_changed

from numba import cuda


@cuda.jit
def erase(b, out):
    for i in range(cuda.grid(1), b.size, cuda.gridsize(1)):
        b[i] = 0.0
    if cuda.grid(1) == 0:
        out[0] = 0.0


def dot(a, b, out):
    erase[2, 64](b, out)
