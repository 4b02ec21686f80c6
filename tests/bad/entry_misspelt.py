"""Spells the entry wrong."""


def cpoy(x, out):
    out.copy_(x)
