"""A copy, thread by thread."""

from numba import cuda


@cuda.jit
def copy_kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


def copy(x, out):
    # BEGIN SOLUTION: start a thread for each element
    copy_kernel[(x.size + 63) // 64, 64](x, out)
    # END SOLUTION
