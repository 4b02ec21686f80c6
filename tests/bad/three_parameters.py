"""The entry wants one argument more than the exercise has."""


def copy(x, out, n):
    out.copy_(x)
