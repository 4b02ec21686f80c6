"""Ready-made kernels."""

import cupy as cp  # KG103
from flash_attn.ops.triton import cross_entropy  # KG103
from numba import cuda


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    double[1, 32](cp, cross_entropy)
    from scipy.special import softmax  # KG103

    return softmax
