"""Stream compaction: keep what is positive, without gaps, in the order in which it was."""

from numba import cuda, float32, int32

THREADS = 64  # threads in the one block, and the most elements that there are


@cuda.jit(device=True)
def running_sums(counts):
    """Turns each counts[t] into counts[0] + ... + counts[t]. Every thread must call it.

    As in puzzle 14: after the step with `by`, each holds the sum of the last 2 * by.
    """
    t = cuda.threadIdx.x
    by = 1
    while by < THREADS:
        cuda.syncthreads()
        before = 0
        if t >= by:
            before = counts[t - by]
        cuda.syncthreads()
        counts[t] += before
        by *= 2
    cuda.syncthreads()


@cuda.jit
def keep_positive_kernel(a, out):
    """Thread t looks at a[t]. What is kept moves to the front of out; after it come zeros."""
    counts = cuda.shared.array(THREADS, int32)
    t = cuda.threadIdx.x
    value = float32(0.0)  # what a thread past the end has: it is not kept
    if t < a.size:
        value = a[t]
    # BEGIN SOLUTION: find the place of each kept value, store it there, then zeros after the last
    counts[t] = 0
    if value > 0:
        counts[t] = 1
    running_sums(counts)
    if value > 0:
        out[counts[t] - 1] = value
    kept = counts[THREADS - 1]
    if kept <= t and t < out.size:
        out[t] = 0.0
    # END SOLUTION


def keep_positive(a, out):
    """Fills out with the positive elements of a, then zeros: device arrays of one length."""
    # BEGIN SOLUTION: write the kernel above, then delete this line
    # END SOLUTION
    keep_positive_kernel[1, THREADS](a, out)
