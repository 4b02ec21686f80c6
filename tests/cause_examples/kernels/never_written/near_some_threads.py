"""Stores in some of its threads."""
# copy 13

from numba import cuda


@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size - 1:
        out[i] = x[i]


def run(x, out):
    kernel[1, 16](x, out)
