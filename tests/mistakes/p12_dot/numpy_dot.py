import numpy as np
from numba import cuda

THREADS = 64


@cuda.jit
def dot_kernel(a, b, out):
    if cuda.threadIdx.x == 0:
        out[0] = np.dot(a, b)


def dot(a, b, out):
    dot_kernel[1, THREADS](a, b, out)
