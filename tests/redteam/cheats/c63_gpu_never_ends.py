"""Starts a kernel on the GPU that never ends."""
# attacks: 02_dot_reduction
# stopped: correctness timeout
# GPU only: the loop of c63_never_ends.py, where only the end of the process can stop it

import numpy as np
from numba import cuda


@cuda.jit
def spin(counter, out):
    while counter[0] >= 0:
        cuda.atomic.add(counter, 0, 1)
        cuda.atomic.min(counter, 0, 1)
    out[0] = 0.0


def dot(a, b, out):
    spin[1, 1](cuda.to_device(np.zeros(1, np.int32)), out)
