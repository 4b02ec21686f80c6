"""Asks Python for 100 GB."""


def copy(x, out):
    bytearray(100_000_000_000)
