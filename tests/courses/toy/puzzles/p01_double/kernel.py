"""Doubles, number by number."""

import toy


@toy.kernel
def double_one(i, x, out):
    # TODO: double number i
    pass


def double(x, out):
    double_one[x.numel()](x, out)
