"""Stores in the other branch of a condition that all threads fulfil."""
# copy 13
# says ) held in every thread.

from numba import cuda


@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i >= 0:  # here
        value = 0
    else:
        value = x[i]
        out[i] = value


def run(x, out):
    kernel[1, 16](x, out)
