"""Sums in 64 bits."""

import math

from numba import cuda


@cuda.jit(device=True)
def doubled(value):
    total = 0.0  # KG605
    for _ in range(2):
        total += value
    return total


@cuda.jit
def rows(x, out):
    row = cuda.blockIdx.x
    highest = -1.0e30  # KG605
    product = other = 1.0  # KG605
    column = 0
    while column < x.shape[1]:
        highest = max(highest, x[row, column])
        product = product * math.exp(x[row, column])
        column += 1
    out[row] = doubled(highest * product) + other


def run(x, out):
    rows[x.shape[0], 1](x, out)
