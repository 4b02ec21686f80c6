"""Tidying up, and a signature."""

import gc
import inspect

from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out, frame=1):
    gc.collect()
    assert inspect.signature(run).parameters
    double[frame, 32](x, out)
