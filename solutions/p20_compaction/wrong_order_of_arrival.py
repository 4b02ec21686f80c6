"""Each kept value takes the next free place, in whatever order the threads come.

Rejected at: correctness
On a GPU: may pass by luck, for the lanes of a warp mostly come in the order of their number
"""

from numba import cuda, int32

THREADS = 64


@cuda.jit
def keep_positive_kernel(a, out):
    taken = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        taken[0] = 0
    cuda.syncthreads()
    if t < a.size and a[t] > 0:
        out[cuda.atomic.add(taken, 0, 1)] = a[t]
    cuda.syncthreads()
    if taken[0] <= t and t < out.size:
        out[t] = 0.0


def keep_positive(a, out):
    keep_positive_kernel[1, THREADS](a, out)
