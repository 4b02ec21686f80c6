"""Counts begin with whatever out held: whole numbers, which change from call to call."""
# counts 13 accumulates_previous

from numba import cuda


@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, x[i], 1)  # here


def run(x, out):
    kernel[1, 16](x, out)
