"""The lines that a report adds to the one that stores a wrong output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from evidences import UNWRITTEN, evidence_of, spec_of, use
from syrupy.assertion import SnapshotAssertion
from torch import Tensor

from grader.correctness import deciding
from grader.correctness.deciding import with_deciding_lines
from grader.correctness.deciding.endless import endless_loop
from grader.correctness.deciding.further import MOST
from grader.correctness.evidence import Evidence
from grader.model import Failure, Frame

SPEC = spec_of(lambda i: {"out": i["x"] * 1.0}, "x")


def evidence(source: str, stores: Sequence[int], *, unwritten: bool = False) -> Evidence:
    """Return the evidence of a kernel that stores wrong numbers, or none to some elements."""

    def kernel(inputs: Any) -> dict[str, Tensor]:
        wrong = inputs["x"] + 7.0
        if unwritten:
            wrong[4:] = UNWRITTEN
            wrong[:4] -= 7.0
        return {"out": wrong}

    marks = torch.arange(6) < (4 if unwritten else 6)
    return evidence_of(
        SPEC,
        kernel,
        (6,),
        source=source,
        decorator="@cuda.jit" if "cuda" in source else "@triton.jit",
        threads="cuda" in source,
        uses=[use(line, "write", "out", marks) for line in stores],
    )


THREADS = """@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    {lines}

def run(x, out):
    kernel[blocks(x.size), 8](x, out)

def blocks(n):
    return (n + 7) // 8
"""
LOOP = """total = {first}
    {head}
        total += x[i + k]
    out[i] = total"""


def threads(lines: str, *stores: int, unwritten: bool = False) -> Evidence:
    return evidence(THREADS.format(lines=lines), stores, unwritten=unwritten)


def summed(head: str, first: str = "0.0") -> Evidence:
    return threads(LOOP.format(first=first, head=head), 7)


HALVED = """by = 8
    while by > 0:
        total += cuda.shfl_down_sync(-1, total, by)
        by //= 2
    out[i] = total"""
SHARED = """tile = cuda.shared.array(8, float32)
    tile[i] = x[i]
    cuda.syncthreads()
    out[i] = tile[7 - i]"""
TREE = """tile = cuda.shared.array(8, float32)
    tile[i] = x[i]
    by = 4
    while by > 0:
        tile[i] += tile[i + by]
        by //= 2
    out[i] = tile[i]"""
TWO_KERNELS = """@cuda.jit
def first(x, parts):
    for i in range(cuda.grid(1), x.size, {step}):
        parts[i] = x[i] {power}

@cuda.jit
def second(parts, out):
    i = cuda.grid(1)
    out[i] = parts[i]

def run(x, out):
    parts = cuda.device_array(x.size)
    first[1, 8](x, {given})
    second[1, 8](parts, out)
"""


def two_kernels(given: str = "parts") -> Evidence:
    source = TWO_KERNELS.format(step=8, power="** 2", given=given)
    return evidence(source, [9])


PROGRAMS = """@triton.jit
def kernel(x_ptr, out_ptr, n, by, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    {line}
    tl.store(out_ptr + i, {value}, mask=i < n)

def run(x, out):
    n = x.numel()
    kernel[(triton.cdiv(n, 8),)](x, out, n, {by}, BLOCK=8)
"""


def programs(line: str, value: str, by: str = "2.0") -> Evidence:
    return evidence(PROGRAMS.format(line=line, value=value, by=by), [6])


# The line that is named, and those that sentences add: each kind twice, with two near misses.
DECIDING: dict[str, tuple[Evidence, int, list[int]]] = {
    "a loop's end": (summed("for k in range(n - 1):"), 6, [5]),
    "a loop's begin": (summed("for k in range(1, 8):"), 6, [5]),
    "a loop of as many turns in each thread": (summed("for k in range(8):"), 6, [5]),
    "no loop": (threads("out[i] = x[i] * 2", 4), 4, []),
    "a first value": (summed("for k in range(8):", "1.0"), 6, [4, 5]),
    "a first value that is an element": (summed("for k in range(8):", "x[i]"), 6, [4, 5]),
    "a first value before that of a condition": (
        threads(HALVED.replace("by = 8", "total = 1.0\n    if i < 4:\n        total = x[i]"
                               "\n    by = 8"), 11), 9, [4, 7]),
    "a first value of 0": (summed("for k in range(8):", "float32(0.0)"), 6, [5]),
    "a first value of -inf": (summed("for k in range(8):", 'float("-inf")'), 6, [5]),
    "a first step": (threads(HALVED, 8), 6, [4, 5]),
    "a first step of a name": (threads(HALVED.replace("8", "n // 2"), 8), 6, [4, 5]),
    "a step that never changes": (threads(HALVED.replace("by //= 2", "i += 1"), 8), 6, [5]),
    "a loop without a step": (threads(HALVED.replace("while by > 0", "for j in n"), 8), 6, [5]),
    "a condition": (threads("if i < 4:\n        out[i] = x[i] * 2", 5), 5, [4]),
    "a condition of an element": (threads("if x[i] > 4:\n        out[i] = 2", 5), 5, [4]),
    "a condition beside it": (threads("if i < 4:\n        i += 1\n    out[i] = 2", 6), 6, []),
    "a tile that is filled and stored": (threads(SHARED, 7), 5, [7]),
    "a sum that is filled and stored": (
        threads(SHARED.replace("out[i] =", "for j in range(8):\n        out[i] +="), 8), 5, [8]),
    "a tile that a loop adds to": (threads(TREE, 10), 5, [7, 8]),
    "a tile that a loop changes": (
        threads(TREE.replace("+= tile[i + by]", "= max(tile[i], tile[i + by])"), 10), 5, [7, 8]),
    "a tile that is changed in no loop": (
        threads(TREE.replace("while by > 0", "if by > 0"), 10), 5, [10]),
    "another tile that a loop adds to": (
        threads(TREE.replace("tile[i] += tile", "other[i] += tile"), 10), 5, [10]),
    "a tile that nobody fills": (threads(SHARED.replace("tile[i] = x[i]", "pass"), 7), 7, []),
    "an earlier kernel": (two_kernels(), 9, [3, 4]),
    "an earlier kernel of another array": (two_kernels("other"), 9, []),
    "a name": (programs("y = tl.exp(x)", "y * x"), 6, [5]),
    "a name of a name": (programs("y = tl.exp(x); z = y + y", "z * x"), 6, [5]),
    "a name that is loaded": (programs("y = tl.load(x_ptr)", "y * x"), 6, []),
    "a name that is a place": (programs("y = tl.arange(0, 8)", "y * x"), 6, []),
    "an argument": (programs("pass", "x * by", "2.0 / n"), 6, [10]),
    "an argument that is a product": (programs("pass", "x / by", "2 * n"), 6, [10]),
    "an argument that is a number": (programs("pass", "x * by"), 6, []),
    "an argument that nothing is computed from": (programs("pass", "x * 2", "2.0 / n"), 6, []),
}  # fmt: skip
PLACES: dict[str, tuple[Evidence, int, list[int]]] = {
    "a place": (threads("j = i * 2\n    out[j] = x[j]", 5, unwritten=True), 5, [4, 11]),
    "a place of places": (
        threads("j = i + 2\n    k = j // 2\n    out[k] = x[k]", 6, unwritten=True), 6, [4, 12]),
    "a place of the launch": (threads("out[i] = x[i]", 4, unwritten=True), 4, [3, 10]),
    "a place that is a number": (threads("out[3] = x[i]", 4, unwritten=True), 4, [10]),
    "a condition of values": (
        threads("v = x[i]\n    if v > 0:\n        out[i] = v", 6, unwritten=True), 6, [3, 5]),
    "a condition of places": (
        threads("if i < x.size:\n        out[i] = 2", 5, unwritten=True), 5, [3, 11]),
    "no store that ran": (threads("if i < 0:\n        out[i] = 2", unwritten=True), 5, [3, 4]),
    "no store": (threads("pass", unwritten=True), 0, []),
}  # fmt: skip


def lines_in(text: str) -> list[int]:
    return sorted({int(number) for number in re.findall(r"\b[Ll]ine (\d+)", text)})


@pytest.mark.parametrize("title", [*DECIDING, *PLACES])
def test_the_lines_that_decide_are_added(title: str, snapshot: SnapshotAssertion) -> None:
    case, line, further = (DECIDING | PLACES)[title]
    named, told = with_deciding_lines(case, 0)
    assert named == line
    assert sorted({*lines_in(told)} - {line}) == further
    assert len(further) <= MOST
    assert told == snapshot


def test_a_cause_with_a_line_of_its_own_stands_alone() -> None:
    case = summed("for k in range(n - 1):")
    assert with_deciding_lines(case, 3) == (3, "")
    assert with_deciding_lines(case, 6)[1]
    assert with_deciding_lines(case, 7)[1]


def test_a_condition_that_a_cause_names_comes_with_its_store() -> None:
    case = threads("if i < 4:\n        out[i] = x[i] * 2\n    out[i] += 3", 5, 6)
    assert lines_in(with_deciding_lines(case, 4)[1]) == [5]
    assert with_deciding_lines(threads("if i < 4:\n        i += 1\n    out[i] += 3", 6), 4)[1] == ""


OUTSIDE = Failure(kind="out_of_bounds", message="too far", frames=())


def outside(lines: str, line: int, **changes: Any) -> tuple[int, str]:
    frame = Frame(line=line, function="kernel", code="")
    failure = OUTSIDE.model_copy(update={"frames": (frame,)} | changes)
    case = replace(threads("out[i] = x[i] * 2", 4), failure=failure)
    text = THREADS.format(lines=lines).splitlines()
    return with_deciding_lines(replace(case, source=text), 0)


@pytest.mark.parametrize(
    ("lines", "line", "place"),
    [
        ("j = i * 2\n    out[i] = x[j]", 5, [4, 5]),
        ("j = i * 2\n    tl.store(out + j, 3.0)", 5, [4, 5]),
        ("out[i * 2] = x[i]", 4, [3, 4]),
        ("out[8] = 3.0", 4, []),
        ("j = i * 2\n    if x[j] > 0:\n        out[i] = 1.0", 5, []),
    ],
)
def test_an_access_out_of_bounds_comes_with_its_place(
    lines: str, line: int, place: list[int], snapshot: SnapshotAssertion
) -> None:
    named, told = outside(lines, line)
    assert (named, lines_in(told)) == (0, place)
    assert told == snapshot
    assert outside(lines, line, kind="race") == (0, "")
    assert outside(lines, line, frames=()) == (0, "")


@pytest.mark.parametrize(
    ("lines", "asked"),
    [
        ("by = 8\n    while by > 0:\n        i += 1\n        by *= 2", [5, 7]),
        ("while i < 8:\n        out[i] = 2.0", [4]),
        ("for k in range(9 ** 9):\n        out[i] = 2.0", []),
        ("while i < 8:\n        i += 1\n    while i < 9:\n        i += 1", []),
    ],
)
def test_the_only_loop_that_may_not_end_is_asked_about(
    lines: str, asked: list[int], snapshot: SnapshotAssertion
) -> None:
    line, told = endless_loop(threads(lines))
    assert (line, lines_in(told)) == (asked[0] if asked else 0, asked)
    assert told == snapshot


def test_a_search_that_takes_too_long_ends_without_sentences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deciding, "SEARCH_S", -1.0)
    assert with_deciding_lines(summed("for k in range(n - 1):"), 6) == (6, "")
