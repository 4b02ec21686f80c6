"""Copies, and prints without an end of line."""


def copy(x, out):
    out.copy_(x)
    if x.numel() == 1:
        print("no end of line", end="")
