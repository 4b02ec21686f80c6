"""Reads every element, and squares most of them."""
# copy 12

from numba import cuda


@cuda.jit
def kernel(x, out):
    i = cuda.threadIdx.x
    value = x[i]
    if i > 2:
        value = value * value + 1
    out[i] = value


def run(x, out):
    kernel[1, 12](x, out)
