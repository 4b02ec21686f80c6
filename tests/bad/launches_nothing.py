"""Returns without a launch."""


def copy(x, out):
    pass
