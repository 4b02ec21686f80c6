"""Holds 64 GiB of memory, a gigabyte at a time: right answers if it may."""
# attacks: 02_dot_reduction
# stopped: load out_of_memory | correctness out_of_memory | correctness timeout (on busy cores)

from numba import cuda, float32

held = []


@cuda.jit
def alone(a, b, out):
    total = float32(0.0)
    for i in range(a.size):
        total += a[i] * b[i]
    out[0] = total


def dot(a, b, out):
    for _ in range(64):
        held.append(bytearray(1 << 30))  # each page of which would be written next
    alone[1, 1](a, b, out)
