"""Raises while it is imported."""

BLOCK = {"float32": 1024}["float16"]


def copy(x, out):
    out.copy_(x)
