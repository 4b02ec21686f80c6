"""Checks its index against a number that is too large."""
# copy 13 x
# says lets
# says the row is
# says another index

from numba import cuda


@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    if t < x.size + 2:
        out[t] = x[t]


def run(x, out):
    kernel[1, 16](x, out)
