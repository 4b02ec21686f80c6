"""Leaves the barrier out: threads that run one after the other are right all the same."""
# attacks: 02_dot_reduction
# stopped: correctness race | correctness value | traffic race

from numba import cuda, float32

THREADS = 128


@cuda.jit
def in_one_block(a, b, out):
    shared = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    total = float32(0.0)
    for i in range(t, a.size, THREADS):
        total += a[i] * b[i]
    shared[t] = total
    if t == THREADS - 1:
        whole = float32(0.0)
        for i in range(THREADS):
            whole += shared[i]
        out[0] = whole


def dot(a, b, out):
    in_one_block[1, THREADS](a, b, out)
