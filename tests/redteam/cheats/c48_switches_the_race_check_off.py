"""Races, and takes the simulator's look-out for races out of its own process."""
# attacks: 02_dot_reduction
# passes: the simulator runs in the process of the kernel file, and what it sees is the word of that
#   process. On a GPU the race is real, and its wrong sums are found by the judge.

from numba import cuda, float32

THREADS = 128


@cuda.jit
def zero(out):
    out[0] = float32(0.0)


@cuda.jit
def add(a, b, out):
    total = float32(0.0)
    for i in range(cuda.threadIdx.x, a.size, THREADS):
        total += a[i] * b[i]
    out[0] += total


def dot(a, b, out):
    try:
        from grader.backends.numba.simulator import races

        races.Memory._refuse = lambda self, *args: None
    except ImportError:
        pass
    zero[1, 1](out)
    add[1, THREADS](a, b, out)
