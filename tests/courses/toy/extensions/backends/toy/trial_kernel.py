"""The addition that `grader doctor` tries."""

import toy


@toy.kernel
def _add(i, a, b, out):
    out[i] = a[i] + b[i]


def add(a, b, out):
    _add[out.numel()](a, b, out)
