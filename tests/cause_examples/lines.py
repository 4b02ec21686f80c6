"""Causes whose line is not the one that loads or stores."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from evidences import UNWRITTEN, evidence_of, spec_of, use
from torch import Tensor

from cause_examples.example import near, shown
from cause_examples.programs import tile
from grader.correctness.evidence import Evidence

VECTOR = spec_of(lambda i: {"out": i["x"] * 1.0}, "x")
SUMS = spec_of(lambda i: {"out": i["x"].exp().sum(-1)}, "x", shape=lambda i: i["x"].shape[:1])

MAXIMUM = """@triton.jit
def kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    highest = {first}
    total = 0.0
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + start + tl.arange(0, BLOCK))
        new = {new}
        total = total * tl.exp(highest - new) + tl.sum(tl.exp(x - new))
        highest = {kept}
    tl.store(out_ptr, total * tl.exp(highest))
"""


def running(new: str, kept: str = "new", first: str = 'float("-inf")') -> Evidence:
    """Sums that are wrong in no way that says anything by itself."""

    def kernel(inputs: Any) -> dict[str, Tensor]:
        return {"out": inputs["x"].exp().sum(-1) + 1.5 * inputs["x"][:, 0].sin() + 7}

    source = MAXIMUM.format(first=first, new=new, kept=kept)
    return evidence_of(SUMS, kernel, (3, 9), (5, 40), source=source)


GUARDED = """@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    i = start + tl.arange(0, BLOCK)
    if {test}:
        {inside}

def run(x, out):
    n = x.numel()
    kernel[(triton.cdiv(n, 8),)](x, out, n, BLOCK=8)
"""
STORE = "tl.store(out_ptr + i, tl.load(x_ptr + i))"


def guarded(test: str, inside: str = STORE) -> Evidence:
    """The last 5 elements of 13 are never written, by two programs of 8 lanes."""

    def kernel(inputs: Any) -> dict[str, Tensor]:
        out = inputs["x"].clone()
        out[8:] = UNWRITTEN
        return {"out": out}

    return evidence_of(
        VECTOR,
        kernel,
        (13,),
        source=GUARDED.format(test=test, inside=inside),
        uses=[use(6, "write", "out", torch.arange(13) < 8, lanes=8)],
        grid=(2, 1, 1),
    )


EXAMPLES = shown(
    {
        "the begin of a tile of rows twice": (
            "added_twice block_index",
            partial(tile, "(tl.program_id(0) * 16 + row[:, None]) * columns + column[None, :]"),
            5,
        ),
        "the begin of a tile of columns twice": (
            "added_twice block_index",
            partial(tile, "row[:, None] * columns + tl.program_id(1) * 32 + column[None, :]"),
            5,
        ),
        "a running maximum that a name of its turn replaces": (
            "last_block_kept",
            partial(running, "tl.max(x, axis=0)"),
            7,
        ),
        "a running maximum that is replaced": (
            "last_block_kept",
            partial(running, "tl.maximum(highest, tl.max(x))", "tl.max(x)"),
            9,
        ),
        "whole blocks of a parameter's size alone": (
            "never_written tail",
            partial(guarded, "start + BLOCK <= n"),
            5,
        ),
        "whole blocks of a number's size alone": (
            "never_written tail",
            partial(guarded, "start + 8 <= n"),
            5,
        ),
    }
) | near(
    {
        "a program's number in two products": (
            "added_twice",
            partial(tile, "(tl.program_id(0) + row[:, None]) * columns + column[None, :]"),
        ),
        "the numbers along both axes": (
            "added_twice",
            partial(tile, "(tl.program_id(1) * 16 + row[:, None]) * columns + column[None, :]"),
        ),
        "a running maximum that goes on": (
            "last_block_kept",
            partial(running, "tl.maximum(highest, tl.max(x))"),
        ),
        "a name that a turn uses, and that begins at 0": (
            "last_block_kept",
            partial(running, "tl.max(x, axis=0)", first="0.0"),
        ),
        "an element more than the index": (
            "never_written",
            partial(guarded, "start + 1 <= n"),
        ),
        "a whole block that nothing is stored for": (
            "never_written",
            partial(guarded, "start + BLOCK <= n", "tl.load(x_ptr + i)"),
        ),
    }
)
