"""Checks an index and reads the next one, too."""
# copy 13 x
# says lets
# says the row is
# says another index

from numba import cuda


@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    if t < x.size:
        out[t] = x[t + 1]


def run(x, out):
    kernel[1, 16](x, out)
