"""Stores in two lines, of which no thread runs any."""
# copy 1
# says (out[i] = x[i]) never ran: line
# says (out[i] = 0.0) never ran: line

from numba import cuda


@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if 0 < i < x.size:
        out[i] = x[i]
    if x.size <= i < 1:  # here
        out[i] = 0.0


def run(x, out):
    kernel[1, 16](x, out)
