"""Has no bounds check."""

from numba import cuda


@cuda.jit
def copy_kernel(x, out):
    i = cuda.grid(1)
    out[i] = x[i]


def copy(x, out):
    copy_kernel[-(-x.size // 32), 32](x, out)
