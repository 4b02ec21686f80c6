"""Never leaves its kernel."""

from numba import cuda


@cuda.jit
def copy_kernel(x, out):
    while x.size > 0:
        out[0] = x[0]


def copy(x, out):
    copy_kernel[1, 1](x, out)
