"""Stores in three lines, of which no thread runs any: too many for a hint."""
# copy 1
# says only gives the name
# says never ran

from numba import cuda


@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if 0 < i < x.size:
        out[i] = x[i]
    if x.size <= i < 1:
        out[i] = 0.0
    if i > 99:
        out[i] = 1.0


def run(x, out):
    kernel[1, 16](x, out)
