"""Dot product: the threads of one block add up their products in a tree."""

from numba import cuda, float32

THREADS = 64  # in the one block; a power of two, so that it can be halved down to 1


@cuda.jit
def dot_kernel(a, b, out):
    """Runs once in every thread of a single block: at least as many threads as elements."""
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    # BEGIN SOLUTION: put the product of thread t into shared, or 0, then add them up in a tree
    if t < a.size:
        shared[t] = a[t] * b[t]
    else:
        shared[t] = 0
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[0] = shared[0]
    # END SOLUTION


def dot(a, b, out):
    """Fills out, of 1 element: device arrays, a and b of one length, at most THREADS."""
    # BEGIN SOLUTION: write the kernel above, then delete this line
    # END SOLUTION
    dot_kernel[1, THREADS](a, b, out)
