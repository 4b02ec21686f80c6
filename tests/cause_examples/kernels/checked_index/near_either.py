"""Lets threads through by either of two conditions."""
# copy 13 x
# says checks
# says lets
# says the row is

from numba import cuda


@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    i = t * 2
    if t < x.size or i < 3:
        out[i] = x[i]


def run(x, out):
    kernel[1, 16](x, out)
