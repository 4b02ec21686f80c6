"""A copy, thread by thread."""

from numba import cuda


@cuda.jit
def copy_kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


def copy(x, out):
    raise NotImplementedError("01_copy: start a thread for each element")
