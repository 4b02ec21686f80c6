"""Adds the elements of all threads to one element of out."""
# sum 1 accumulates_previous
# says All threads that run this line use that one element. Put the value of each thread into
# says let one thread store the result.

from numba import cuda


@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    if t < x.size:
        out[0] += x[t]  # here


def run(x, out):
    kernel[1, 4](x, out)
