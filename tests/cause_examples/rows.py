"""Rows that programs do not reach, and kernels whose programs have no row each."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from evidences import evidence_of, spec_of, use

from cause_examples.example import Example, shown
from grader.correctness.evidence import Evidence

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


LACKS = "never_read program_id_unused"
EXAMPLES: dict[str, Example] = shown(
    {
        "an address without the row": (LACKS, row_0, 5),
        "an address without the row's stride": (LACKS, partial(row_0, "x.stride(0)"), 5),
        "an address without the row, of no length": (LACKS, partial(row_0, "5"), 5),
        "more programs than rows": (LACKS, partial(row_0, programs=6), 4),
    }
)
