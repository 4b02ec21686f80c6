"""A copy, thread by thread."""

from numba import cuda


@cuda.jit
def copy_kernel(x, out):
    i = cuda.grid(1)
    # BEGIN SOLUTION: move element i, if there is one
    if i < x.size:
        out[i] = x[i]
    # END SOLUTION


def copy(x, out):
    copy_kernel[(x.size + 63) // 64, 64](x, out)
