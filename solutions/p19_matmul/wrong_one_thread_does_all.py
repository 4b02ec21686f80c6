"""One thread copies both matrices into arrays of its own and multiplies them: no sharing.

Rejected at: counts
"""

from numba import cuda, float32


@cuda.jit
def matmul_kernel(a, b, out):
    own_a = cuda.local.array((25, 25), float32)
    own_b = cuda.local.array((25, 25), float32)
    for row in range(a.shape[0]):
        for i in range(a.shape[1]):
            own_a[row, i] = a[row, i]
    for i in range(b.shape[0]):
        for column in range(b.shape[1]):
            own_b[i, column] = b[i, column]
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            total = float32(0.0)
            for i in range(a.shape[1]):
                total += own_a[row, i] * own_b[i, column]
            out[row, column] = total


def matmul(a, b, out):
    matmul_kernel[1, 1](a, b, out)
