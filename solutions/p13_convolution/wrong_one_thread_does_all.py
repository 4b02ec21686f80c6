"""One thread moves the weights along all of a, and keeps four elements: no tile, no halo.

Rejected at: counts
"""

from numba import cuda, float32


@cuda.jit
def convolve_kernel(a, weights, out):
    second = third = fourth = float32(0.0)
    for i in range(a.size - 1, -1, -1):
        first = a[i]
        total = weights[0] * first + weights[1] * second
        out[i] = total + weights[2] * third + weights[3] * fourth
        second, third, fourth = first, second, third


def convolve(a, weights, out):
    convolve_kernel[1, 1](a, weights, out)
