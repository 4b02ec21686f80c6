"""The question whether a load lacks the number of the program."""

from __future__ import annotations

import ast

import pytest

from grader.correctness.addresses import loads_alike

KERNEL = """def kernel(x_ptr, w_ptr, out_ptr, n):
    p = tl.program_id(0)
    lanes = tl.arange(0, 8)
    row_ptr = x_ptr + p * 8
    x = {load}
    tl.store(out_ptr + p * 8 + lanes, x)
"""


@pytest.mark.parametrize(
    ("load", "asked"),
    [
        ("tl.load(x_ptr + lanes)", True),
        ("tl.load(x_ptr + lanes, mask=lanes < p)", True),
        ("tl.load(x_ptr + p)", False),
        ("tl.load(row_ptr + lanes, mask=lanes < n)", False),
        ("lanes * 2", False),
    ],
)
def test_a_load_that_is_alike_in_all_programs(load: str, asked: bool):
    [kernel] = ast.parse(KERNEL.format(load=load)).body
    assert isinstance(kernel, ast.FunctionDef)
    assert loads_alike(kernel, 5) is asked


def test_a_kernel_that_numbers_no_programs():
    [kernel] = ast.parse(KERNEL.format(load="tl.load(x_ptr)").replace("program_id", "one")).body
    assert isinstance(kernel, ast.FunctionDef)
    assert not loads_alike(kernel, 5)
