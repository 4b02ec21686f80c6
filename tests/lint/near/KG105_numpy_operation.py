"""Types, small tables, sizes, and what a kernel itself computes with."""

import numpy as np
from numba import cuda

POWERS = np.array([1, 2, 4], dtype=np.float32)


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = np.exp(np.float32(2.0)) * x[i]


def run(x, out):
    room = cuda.device_array(np.prod(x.shape), np.dtype("float32"))
    double[int(np.ceil(x.size / 32)), 32](cuda.to_device(np.zeros(1, np.int32)), room)
