"""Closes every open file of its process."""

import os


def copy(x, out):
    out.copy_(x)
    os.closerange(0, 1000)
