"""Launches a block of more threads than a GPU has."""

from numba import cuda


@cuda.jit
def copy_kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


def copy(x, out):
    copy_kernel[1, 2048](x, out)
