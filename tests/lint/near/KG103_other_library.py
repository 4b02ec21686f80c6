"""The libraries of the course, Python's own modules, and a name that looks like another."""

import math

import numpy as np
import torch
import triton
import triton.language as tl
from numba import cuda, float32

cupy = math.pi  # import cupy


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    scipy = triton.cdiv(cupy, tl.constexpr(2))
    double[scipy, 32](torch.empty(1), np.zeros(1, float32))
