"""Checks nothing at all."""
# copy 13 x
# says checks
# says lets
# says the row is

from numba import cuda


@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    out[t] = x[t]


def run(x, out):
    kernel[1, 16](x, out)
