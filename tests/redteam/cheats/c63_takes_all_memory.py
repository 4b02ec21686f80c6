"""Asks for more memory than the machine has, a gigabyte at a time."""
# attacks: 02_dot_reduction
# stopped: load out_of_memory | correctness out_of_memory

import mmap

held = []


def dot(a, b, out):
    for _ in range(64):
        held.append(mmap.mmap(-1, 1 << 30))  # whose pages would all be written next
    raise MemoryError
