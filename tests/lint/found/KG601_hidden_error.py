"""A launch that may fail unseen."""

import contextlib

from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    try:
        double[1, 4096](x, out)
    except Exception:  # KG601
        pass


def through_another(x, out):
    try:
        run(x, out)
    except ValueError as error:  # KG601
        print(error)


def suppressed(x, out):
    with contextlib.suppress(Exception):  # KG601
        double[1, 32](x, out)
