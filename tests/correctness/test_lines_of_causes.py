"""The line of a cause, where the text has several that fit: twice the one, twice the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from cause_examples.budgets import host, over
from cause_examples.programs import ACROSS, DOWN, gaps
from evidences import UNWRITTEN, cause_of, evidence_of, spec_of, use
from torch import Tensor

from grader.correctness.causes import explain
from grader.correctness.evidence import Evidence
from grader.grading.steps.traffic.allowance import AGAIN

AXES = """@triton.jit
def kernel(x_ptr, out_ptr, columns):
    row = tl.program_id({asked})
    x = tl.load(x_ptr + row * 8 + tl.arange(0, 8))
    tl.store(out_ptr + row * 8 + tl.arange(0, 8), x)

def run(x, out):
    {launch}
"""


def programs(launch: str, asked: str = "0") -> Evidence:
    message = "every element of x is read 8 times on average"
    text = AXES.format(launch=launch, asked=asked)
    return over("traffic", message, text, triton=True)()


@pytest.mark.parametrize("threads", [False, True], ids=["programs", "threads"])
def test_advice_on_writes_names_threads_where_the_language_has_them(threads: bool) -> None:
    text = AXES.format(launch="kernel[(2,)](x, out, 8)", asked="0")
    evidence = over("traffic", "every element of out is written 2 times on average", text)()
    failure = evidence.failure.model_copy(update={"hint": AGAIN["written"]})
    found = explain(replace(evidence, failure=failure, threads=threads), print)
    assert found is not None
    assert ("thread" in found[1].hint) is threads


SUM = spec_of(lambda i: {"out": i["x"] + i["y"] * 1.0}, "x", "y")
ADDS = """@triton.jit
def kernel(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 8)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    {between}
    total = x + y
    tl.store(out_ptr + i, total)

def run(x, y, out):
    kernel[(1,)](x, y, out)
"""


def shifted(name: str, seen: bool, between: str = "pass") -> Evidence:
    """A kernel that reads one of its inputs one place after the right one."""

    def kernel(inputs: Any) -> dict[str, Tensor]:
        return {"out": sum(v.roll(-1) if k == name else v for k, v in inputs.items())}

    marks = torch.ones(6)
    lines = {"x": 4, "y": 5} if seen else {}
    return evidence_of(
        SUM,
        kernel,
        (6,),
        (17,),
        source=ADDS.format(between=between),
        uses=[
            *(use(line, "read", argument, marks) for argument, line in lines.items()),
            use(8, "write", "out", marks),
        ],
    )


FIXED = """@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    place = {place}
    if t == 0:
        out[place] = x[0]

def run(x, out):
    kernel[x.size, 8](x, out)
"""


def fixed(place: str) -> Evidence:
    def kernel(inputs: Any) -> dict[str, Tensor]:
        out = inputs["x"].clone()
        out[1:] = UNWRITTEN
        return {"out": out}

    return evidence_of(
        spec_of(lambda i: {"out": i["x"] * 1.0}, "x"),
        kernel,
        (5,),
        source=FIXED.format(place=place),
        decorator="@cuda.jit",
        threads=True,
        uses=[use(6, "write", "out", torch.arange(5) < 1)],
        grid=(5, 1, 1),
    )


ONE_ROW = ((4, 20), (3, 1, 1))
CASES: dict[str, tuple[Callable[[], Evidence], int]] = {
    "threads in the brackets": (partial(programs, "kernel[9, 128](x, out, 7)"), 8),
    "a pair in the brackets": (partial(programs, "kernel[(9, 4)](x, out, 7)"), 8),
    "an axis of one program": (partial(programs, "kernel[9, 1](x, out, 7)"), 4),
    "an axis that the kernel asks for": (partial(programs, "kernel[9, 4](x, out, 7)", "1"), 4),
    "an array as long as an input": (
        host("memory", "a = torch.empty(7 * n)\n    b = torch.empty(x.numel())"), 11),
    "an array like an input": (
        host("memory", "a = torch.empty(7 * n)\n    b = torch.zeros_like(x)"), 11),
    "two arrays of no known length": (
        host("memory", "a = torch.empty(7 * n)\n    b = torch.zeros(n)"), 10),
    "two arrays as long as inputs": (
        host("memory", "a = torch.empty(x.size(0))\n    b = torch.empty_like(x)"), 10),
    "the line that reads x": (partial(shifted, "x", seen=True), 4),
    "the line that reads y, which nobody saw": (partial(shifted, "y", seen=False), 5),
    "two lines that read y": (
        partial(shifted, "y", seen=False, between="z = tl.load(y_ptr + i + 1)"), 7),
    "a line of two loads": (
        partial(shifted, "x", seen=False, between="z = tl.load(x_ptr)"), 7),
    "an axis of one program that is asked for": (
        partial(gaps, *ONE_ROW, "tl.program_id(1) * 4 + tl.arange(0, 4)", "tl.arange(0, 32)",
                "(triton.cdiv(rows, 4), 1)"), 3),
    "another axis of one program": (
        partial(gaps, *ONE_ROW, "tl.arange(0, 4)", "tl.program_id(2) * 8 + tl.arange(0, 8)",
                "(triton.cdiv(rows, 4), 1, 1)"), 4),
    "an axis of several programs": (
        partial(gaps, (4, 20), (3, 3, 1), "tl.arange(0, 4)", ACROSS), 3),
    "the other of several programs": (
        partial(gaps, (10, 8), (3, 3, 1), DOWN, "tl.arange(0, 8)"), 4),
    "a place that is 0": (partial(fixed, "0"), 4),
    "a place that is another number": (partial(fixed, "2"), 4),
    "a place of threads": (partial(fixed, "t"), 3),
    "a place that is an element": (partial(fixed, "x[0]"), 3),
}  # fmt: skip


@pytest.mark.parametrize("title", CASES)
def test_the_line_of_a_cause(title: str) -> None:
    make, line = CASES[title]
    found = cause_of(make())
    assert found is not None
    assert found[1] == line
