"""Leaves the last number out.

Rejected at: correctness
"""

import toy


@toy.kernel
def double_one(i, x, out):
    out[i] = 2 * x[i]


def double(x, out):
    double_one[x.numel() - 1](x, out)
