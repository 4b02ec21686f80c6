"""Calls numpy's dot product from within its kernel, which in simulation is a Python function."""
# attacks: 02_dot_reduction
# stopped: correctness exception

import numpy as np
from numba import cuda


@cuda.jit
def _dot(a, b, out):
    out[0] = np.dot(np.asarray(a, np.float64), np.asarray(b, np.float64))


def dot(a, b, out):
    _dot[1, 1](a, b, out)
