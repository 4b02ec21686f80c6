"""Doubles, number by number."""

import toy


@toy.kernel
def double_one(i, x, out):
    # BEGIN SOLUTION: double number i
    out[i] = 2 * x[i]
    # END SOLUTION


def double(x, out):
    double_one[x.numel()](x, out)
