"""The entry is the kernel itself, which would need a grid."""

from numba import cuda


@cuda.jit
def copy(x, out):
    out[0] = x[0]
