"""Sums in 32 bits, numbers that no loop carries on, and kernels of a language without doubles."""

import triton
import triton.language as tl
from numba import cuda, float32


@cuda.jit
def rows(x, out):
    row = cuda.blockIdx.x
    total = float32(0.0)
    count = 0
    half = 0.5
    for column in range(x.shape[1]):
        before = 0.0
        if column > 0:
            before = x[row, column - 1]
        total += x[row, column] - before
        count += 1
    out[row] = total * half / count


@triton.jit
def sums(x_ptr, out_ptr, n):
    total = 0.0
    for i in range(n):
        total += tl.load(x_ptr + i)
    tl.store(out_ptr, total)


def mean(values):
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


def run(x, out):
    rows[x.shape[0], 1](x, out)
    sums[(1,)](x, out, 3)
    out[0] = mean([1.0])
