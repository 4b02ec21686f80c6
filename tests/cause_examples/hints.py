"""Kernels of beginners whose hints are golden files: each word of them has to be right."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from evidences import UNWRITTEN, evidence_of, spec_of, use
from torch import Tensor

from cause_examples.example import Example, shown
from grader.correctness.evidence import Evidence

SUM = spec_of(lambda i: {"out": i["x"].sum(-1, keepdim=True)}, "x", shape=(1,))
UPDATES = """@cuda.jit
def kernel(x, out):
    shared = cuda.shared.array(8, float32)
    if cuda.threadIdx.x == 0:
        {line}

def run(x, out):
    kernel[1, 8](x, out)
"""


def updates(line: str) -> Evidence:
    """A sum that is added to an output, of which the judge knows no more than before."""

    def kernel(inputs: Any) -> dict[str, Tensor]:
        return {"out": torch.full((1,), UNWRITTEN)}

    return evidence_of(
        SUM,
        kernel,
        (7,),
        source=UPDATES.format(line=line),
        decorator="@cuda.jit",
        threads=True,
        uses=[use(5 + line.count("\n"), "read", "out", torch.ones(1), unset=True)],
        attempt=lambda case: None,
    )


EXAMPLES: dict[str, Example] = shown(
    {
        "out += the sum": (
            "unwritten_read accumulates_previous",
            partial(updates, "out[0] += shared[0]"),
            5,
        ),
        "out += each element": (
            "unwritten_read accumulates_previous",
            partial(updates, "for i in range(x.size):\n            out[0] += x[i]"),
            6,
        ),
    }
)
