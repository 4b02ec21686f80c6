"""One thread moves the window along all elements, and keeps it in variables: no sharing.

Rejected at: counts
"""

from numba import cuda


@cuda.jit
def pool_kernel(a, out):
    if cuda.threadIdx.x == 0:
        first = second = third = a[0]
        for t in range(a.size):
            fourth = a[t]
            out[t] = max(max(first, second), max(third, fourth))
            first, second, third = second, third, fourth


def pool(a, out):
    pool_kernel[1, a.size](a, out)
