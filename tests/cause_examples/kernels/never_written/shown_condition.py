"""Stores where a condition holds that no thread fulfils."""
# copy 13
# says (out[i] = x[i]) never ran: line
# says ) held in no thread.

from numba import cuda


@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i > x.size + 9:  # here
        out[i] = x[i]


def run(x, out):
    kernel[1, 16](x, out)
