"""A copy, thread by thread."""

from numba import cuda


@cuda.jit
def copy_kernel(x, out):
    i = cuda.grid(1)
    # TODO: move element i, if there is one
    pass


def copy(x, out):
    copy_kernel[(x.size + 63) // 64, 64](x, out)
