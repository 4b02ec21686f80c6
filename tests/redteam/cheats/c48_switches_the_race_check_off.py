"""Races, and takes the simulator's look-out for races out of its own process."""
# attacks: 02_dot_reduction
# passes: the simulator runs in the process of the kernel file, and what it sees is the word of that
#   process. On a GPU the race is real, and its wrong sums are found by the judge.

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
    try:
        from grader.worker import numba_races

        numba_races.Memory.load = numba_races.Memory.store = lambda self, *args: None
    except ImportError:
        pass
    in_one_block[1, THREADS](a, b, out)
