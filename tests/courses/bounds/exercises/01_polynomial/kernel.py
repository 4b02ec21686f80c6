"""A polynomial of each element."""


def polynomial(x, out):
    raise NotImplementedError("01_polynomial: multiply by x and add 1, 256 times")
