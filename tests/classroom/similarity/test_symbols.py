"""Symbols of a kernel: what a student may choose freely leaves no trace in them."""

from __future__ import annotations

import pytest

from grader.classroom.similarity.symbols import LONGEST, Symbol, Unreadable, cpp_symbols, symbols

KERNEL = '''"""Adds."""
import triton
import triton.language as tl

BLOCK = 1024  # elements


@triton.jit
def add(x_ptr, n, BLOCK: tl.constexpr):
    """Add."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    total = 0.0
    total += x
'''
DISGUISED = """import triton as t
from triton import language as lang
SIZE = 64
@t.jit
def plus(a, b, SIZE):
    i = (lang.program_id(1) * SIZE
         + lang.arange(7, SIZE))  # which
    v: object = lang.load(a + i, other_name=i < b)
    s = 1
    s = s + v
"""


def texts(source: str) -> list[str]:
    return [symbol.text for symbol in symbols(source)]


def test_names_numbers_comments_and_formatting_leave_no_trace():
    assert texts(KERNEL) == texts(DISGUISED)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tl.load", "tl.store"),
        ("* BLOCK", "+ BLOCK"),
        ("offsets < n", "offsets <= n"),
        ("total += x", "total = x"),
        ("total = 0.0", "total = None"),
        ("import triton.language as tl", "import numpy as tl"),
    ],
)
def test_what_the_kernel_does_shows(old: str, new: str):
    changed = KERNEL.replace(old, new)
    assert changed != KERNEL
    assert texts(changed) != texts(KERNEL)


def test_each_symbol_knows_its_line():
    found = symbols("a = 1\n\nb = (2 +\n 3)\n")
    assert [(one.text, one.line) for one in found if one.text == "C"] == [
        ("C", 1),
        ("C", 3),
        ("C", 4),
    ]


CUDA = '''
SOURCE = r"""
// adds
__global__ void add(const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;  /* mine */
    if (i < n) out[i] = twice(x[i]) + __expf(2.0f);
}
"""
'''


def test_cuda_in_a_string_is_read_like_code():
    renamed = CUDA.replace("add(", "plus(").replace("int i", "int k").replace("[i]", "[k]")
    renamed = renamed.replace("i < n", "k < n").replace("// adds", "// same").replace("2.0f", "3")
    assert texts(renamed) == texts(CUDA)
    assert texts(CUDA.replace("__expf", "__logf")) != texts(CUDA)
    assert "blockIdx" in texts(CUDA)
    lines = {one.line for one in symbols(CUDA) if one.text == "if"}
    assert lines == {6}


def test_a_function_of_the_student_s_own_has_no_name_in_cuda():
    text = "__device__ float twice(float v) { return 2 * v; } twice(x)"
    assert Symbol("twice", 1) not in list(cpp_symbols(text, 1))


def test_a_digit_separator_begins_no_text_in_cuda():
    found = [one.text for one in cpp_symbols("n = 1'000'000; m = 'x' + 1;", 1)]
    assert found == ["N", "=", "C", ";", "N", "=", "S", "+", "C", ";"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "cpp",
    [" ".join(f"f{n}(" for n in range(20_000)), '"' + '\\"' * 80_000, "'" + "\\'" * 80_000],
    ids=["names", "open-text", "open-character"],
)
def test_a_hostile_text_costs_its_length_and_not_its_square(cpp: str):
    """Each takes minutes otherwise: that it ends is the test."""
    assert len(list(cpp_symbols(cpp, 1))) <= 40_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def f(:", "it is no Python"),
        ("a = '\0'", "it is no Python"),
        ("(" * 5000, "it is no Python"),
        ("#" * (LONGEST + 1), "it is longer than"),
        ("x = 0\n" * 30_000, "it has more than 50,000 symbols"),
    ],
    ids=["syntax", "null", "nesting", "long", "many"],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(text: str, reason: str):
    with pytest.raises(Unreadable, match=reason):
        symbols(text)
