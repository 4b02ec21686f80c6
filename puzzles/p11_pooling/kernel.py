"""Pooling: the largest of the last few elements, at each place."""

from numba import cuda, float32

THREADS = 128  # the most that the one block has
WINDOW = 4  # elements that one output looks at


@cuda.jit
def pool_kernel(a, out):
    """Runs once in every thread of a single block: there are as many threads as elements."""
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    # TODO: put a[t] into shared, wait, then find the largest of the WINDOW up to t
    pass


def pool(a, out):
    """Fills out: device arrays of one length, at most THREADS."""
    raise NotImplementedError("p11_pooling: write the kernel above, then delete this line")
    pool_kernel[1, a.size](a, out)
