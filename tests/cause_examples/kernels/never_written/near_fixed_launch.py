"""Stores in all of its threads, which are too few."""
# copy 33

from numba import cuda


@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


def run(x, out):
    kernel[1, 16](x, out)
