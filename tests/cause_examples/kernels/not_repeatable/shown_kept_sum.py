"""A sum that the file keeps from call to call is never cleared."""
# sum 13

import numpy as np
from numba import cuda

TOTAL = cuda.to_device(np.zeros(1, np.float32))  # here


@cuda.jit
def kernel(x, out, total):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])
    cuda.syncthreads()
    if i == 0:
        out[0] = total[0]


def run(x, out):
    kernel[1, 16](x, out, TOTAL)
