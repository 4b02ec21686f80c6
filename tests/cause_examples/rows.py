"""Rows that programs do not reach, and kernels whose programs have no row each."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from evidences import evidence_of, refused, spec_of, use

from cause_examples.example import Example, shown
from grader.correctness.evidence import Evidence
from grader.model import Failure, Frame, Spec

MAXIMA = spec_of(
    lambda i: {"out": i["x"].amax(1)}, "x", shape=lambda i: i["x"].shape[:1], largest=(9, 9)
)
ROWS = """@triton.jit
def kernel(x_ptr, out_ptr, length):
    p = tl.program_id(0)
    lanes = tl.arange(0, 8)
    x = tl.load(x_ptr + lanes, mask=lanes < length, other=float("-inf"))
    tl.store(out_ptr + p, tl.max(x, axis=0))

def run(x, out):
    rows, columns = x.shape
    kernel[(rows,)](x, out, {length})
"""


def row_0(length: str = "columns", programs: int = 3) -> Evidence:
    """The maximum of row 0, in each row."""

    def kernel(inputs: Any) -> dict[str, torch.Tensor]:
        return {"out": inputs["x"].amax(1)[:1].expand(3)}

    return evidence_of(
        MAXIMA,
        kernel,
        (3, 5),
        source=ROWS.format(length=length),
        uses=[use(5, "read", "x", (torch.arange(3) < 1)[:, None].expand(3, 5), lanes=8)],
        grid=(programs, 1, 1),
        complete=True,
    )


TABLE = spec_of(lambda i: {"out": i["x"] * 1.0}, "x", largest=(9, 9))
VECTOR = spec_of(lambda i: {"out": i["x"] * 1.0}, "x")
OVERLAP = """@triton.jit
def kernel(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + p * columns + lanes, mask=lanes < columns)
    tl.store({address}, x, mask=lanes < columns)

def run(x, out):
    rows, columns = x.shape
    kernel[(rows,)](x, out, {stride}, columns, BLOCK=8)
"""
ANOTHER = (
    "program 1 writes another value to element 1 of out, which program 0 wrote in line 6 (x): "
    "programs run in any order, so it is left to chance which comes first"
)


def meet(
    address: str, stride: str = "out.stride(0)", *, spec: Spec = TABLE, message: str = ANOTHER
) -> Evidence:
    """Rows, or blocks, of two programs that overlap."""
    failure = Failure(
        kind="race",
        message=message,
        frames=(Frame(line=6, function="kernel", code=""),),
        hint="Give each element to one program.",
    )
    return refused(failure, OVERLAP.format(address=address, stride=stride), spec)


BY_STRIDE = "out_ptr + stride * p + lanes"
LACKS = "never_read program_id_unused"
EXAMPLES: dict[str, Example] = shown(
    {
        "an address without the row": (LACKS, row_0, 5),
        "an address without the row's stride": (LACKS, partial(row_0, "x.stride(0)"), 5),
        "an address without the row, of no length": (LACKS, partial(row_0, "5"), 5),
        "rows that begin as far apart as columns": (
            "overlapping_programs row_stride",
            partial(meet, BY_STRIDE, "out.stride(1)"),
            10,
        ),
        "rows that begin as far apart as columns, from the last axis": (
            "overlapping_programs row_stride",
            partial(meet, BY_STRIDE, "out.stride(-1)"),
            10,
        ),
        "rows that begin at the number of the program": (
            "overlapping_programs row_stride",
            partial(meet, "out_ptr + p + lanes", "columns"),
            6,
        ),
        "blocks that begin at the number of the program": (
            "overlapping_programs block_index",
            partial(meet, "out_ptr + p + lanes", spec=VECTOR),
            6,
        ),
        "blocks that begin at a multiple of it": (
            "overlapping_programs written_twice",
            partial(meet, "out_ptr + p * columns + lanes", spec=VECTOR),
            6,
        ),
        "rows whose stride is right": (
            "overlapping_programs written_twice",
            partial(meet, BY_STRIDE),
            6,
        ),
        "columns that begin as far apart as columns": (
            "overlapping_programs written_twice",
            partial(meet, "out_ptr + stride * p + lanes * columns", "out.stride(1)"),
            6,
        ),
        "blocks of two axes": (
            "overlapping_programs written_twice",
            partial(meet, BY_STRIDE, message=ANOTHER.replace("program 1", "program (1, 0)")),
            6,
        ),
        "more programs than rows": (LACKS, partial(row_0, programs=6), 4),
    }
)
