"""Launches without a grid in brackets, and through a table."""

from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    double.forall(len(x))(x, out)


KERNELS = [double]


def other(x, out):
    KERNELS[0][1, 32](x, out)
