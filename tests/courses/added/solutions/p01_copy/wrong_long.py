"""A copy in too many lines.

Rejected at: short
"""

from numba import cuda


@cuda.jit
def copy_kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


# A line for each letter of
# c
# o
# p
# y
# ,
#
# w
# h
# i
# c
# h
#
# n
# o
# b
# o
# d
# y
#
# n
# e
# e
# d
# s


def copy(x, out):
    copy_kernel[(x.size + 63) // 64, 64](x, out)
