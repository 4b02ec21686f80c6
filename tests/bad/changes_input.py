"""Sorts its input in place."""


def copy(x, out):
    out.copy_(x)
    x[-1, -1] += 1
