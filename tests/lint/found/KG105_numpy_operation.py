"""numpy computes, on the CPU."""

import numpy
import numpy as np
from numba import cuda
from numpy import dot as product


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(a, b, out):
    double[1, 32](np.dot(a, b), out)  # KG105
    product(a, b)  # KG105
    numpy.linalg.norm(a)  # KG105
    np.add.reduce(a)  # KG105
