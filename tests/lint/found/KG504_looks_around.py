"""Objects of others."""

import gc
import inspect
import sys

from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    gc.get_objects()  # KG504
    inspect.currentframe()  # KG504
    frame = sys._getframe()  # KG504
    frame.f_back.f_locals["expected"]  # KG504
    run.__globals__["double"] = None  # KG202 KG504
    double[1, 32](x, out)
