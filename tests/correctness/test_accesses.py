"""The lines that read an argument, as the text of a kernel shows them."""

from __future__ import annotations

from grader.correctness.accesses import lines_of
from grader.correctness.source import Source

FILE = """@cuda.jit
def kernel(a, out):
    n = a.shape[0]
    i = cuda.grid(1)
    if i < n and a.strides[0] > 0:
        out[i] = a[i]

def run(a, out):
    kernel[1, 8](a, out)
"""


def test_the_extents_of_an_array_are_no_elements_of_it():
    source = Source(FILE.splitlines(), "@cuda.jit")
    assert lines_of(source, "a", reading=True) == [6]
    assert lines_of(source, "out", reading=False) == [6]
