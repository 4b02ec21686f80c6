"""Masks that compare another place than the address has, and kernels that nearly do."""

from __future__ import annotations

from functools import partial

import torch
from evidences import evidence_of, refused, spec_of, use

from cause_examples.example import Example, near, shown
from grader.correctness.evidence import Evidence
from grader.model import Failure, Frame

VECTOR = spec_of(lambda i: {"out": i["x"] * 1.0}, "x")
TABLE = spec_of(lambda i: {"out": i["x"] * 1.0}, "x", largest=(9, 9))
BLOCKS = """@triton.jit
def kernel(x_ptr, out_ptr, n):
    lanes = tl.arange(0, 64)
    offsets = tl.program_id(0) * 64 + lanes
    x = tl.load(x_ptr + {address}, mask={mask})
    tl.store(out_ptr + offsets, x, mask=offsets < n)
"""
LOOP = """@triton.jit
def kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    for start in range(0, columns, BLOCK):
        offsets = start + lanes
        x = tl.load(x_ptr + row * columns + {address}, mask={mask})
    for start in range(0, columns, BLOCK):
        offsets = start + lanes
        tl.store(out_ptr + row * columns + offsets, x, mask=offsets < columns)
"""
PAST = "load reads 63 elements past the end of x (x spans 65 elements)"
BEFORE = "load reads 1 element before the start of x (x spans 65 elements)"


def leaves(source: str, mask: str, address: str = "offsets", message: str = PAST) -> Evidence:
    """A load that leads out of x."""
    line = 7 if source is LOOP else 5
    frame = Frame(line=line, function="kernel", code="")
    failure = Failure(kind="out_of_bounds", message=message, frames=(frame,), hint="Mask off.")
    text = source.format(mask=mask, address=address)
    return refused(failure, text, TABLE if source is LOOP else VECTOR)


def of_lanes(*arguments: str) -> tuple[str, partial[Evidence]]:
    return "mask_of_lanes missing_mask", partial(leaves, *arguments)


def nearly(*arguments: str) -> tuple[str, partial[Evidence]]:
    return "mask_of_lanes", partial(leaves, *arguments)


MAXIMA = spec_of(
    lambda i: {"out": i["x"].amax(1)}, "x", shape=lambda i: i["x"].shape[:1], largest=(9, 9)
)
ROWS = """@triton.jit
def kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = row * columns + tl.arange(0, BLOCK)
    inside = {mask}
    x = tl.load(x_ptr + offsets, mask=inside, other=float("-inf"))
    tl.store(out_ptr + row, tl.max(x, axis=0))
"""


def of_address(mask: str, rows: int = 1) -> Evidence:
    """A maximum of each row, where the load was seen in the first rows alone."""
    return evidence_of(
        MAXIMA,
        lambda i: {"out": torch.full(i["x"].shape[:1], -torch.inf)},
        (3, 5),
        source=ROWS.format(mask=mask),
        uses=[use(6, "read", "x", (torch.arange(3) < rows)[:, None].expand(3, 5), lanes=8)],
    )


TILE = """@triton.jit
def kernel(x_ptr, out_ptr, rows, columns):
    row = tl.program_id(0) * 16 + tl.arange(0, 16)
    column = tl.program_id(1) * 32 + tl.arange(0, 32)
    offsets = row[:, None] * columns + column[None, :]
    inside = {mask}
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + {address}, x, mask=inside)
"""
TWO_VALUES = (
    "program 0 writes two different values to element 1 of out at once: it is left to chance which "
    "of them stays"
)
ANOTHER = "program 1 writes another value to element 1 of out, which program 0 wrote in line 8 (x)"
FLAT = "offsets < rows * columns"


def meets(mask: str, address: str = "offsets", message: str = TWO_VALUES) -> Evidence:
    """A store whose lanes meet in one element."""
    failure = Failure(
        kind="race",
        message=message,
        frames=(Frame(line=8, function="kernel", code=""),),
        hint="Give each element to one program.",
    )
    return refused(failure, TILE.format(mask=mask, address=address), TABLE)


EXAMPLES: dict[str, Example] = shown(
    {
        "lanes < n, of blocks": of_lanes(BLOCKS, "lanes < n"),
        "tl.arange(...) < n": of_lanes(BLOCKS, "tl.arange(0, 64) < n"),
        "lanes < n, of a sum in the address": of_lanes(
            BLOCKS, "lanes < n", "tl.program_id(0) * 64 + lanes"
        ),
        "lanes < columns, in a loop": of_lanes(LOOP, "lanes < columns"),
        "lanes < columns, of terms of their own": of_lanes(
            LOOP, "lanes < columns", "start + lanes"
        ),
        "a tile's offsets < rows * columns": ("lanes_meet missing_mask", partial(meets, FLAT), 8),
        "a tile's rows alone": (
            "lanes_meet missing_mask",
            partial(meets, "row[:, None] < rows"),
            8,
        ),
        "a tile with a mask": (
            "lanes_meet written_twice",
            partial(
                meets, "(row[:, None] < rows) & (column[None, :] < columns)", "column[None, :]"
            ),
            8,
        ),
        "a place in the table < columns": (
            "mask_of_address never_read",
            partial(of_address, "offsets < columns"),
            5,
        ),
    }
)
NEAR_HINTS = near(
    {
        "offsets < n": nearly(BLOCKS, "offsets < n"),
        "the place and the lane": nearly(BLOCKS, "(offsets < n) & (lanes < n)"),
        "the lane and what is left": nearly(LOOP, "lanes < columns - start"),
        "a block's own length": nearly(LOOP, "lanes < BLOCK"),
        "an access before the start": nearly(BLOCKS, "lanes < n", "offsets", BEFORE),
        "rows of whole blocks": nearly(LOOP, "lanes < columns", "row * BLOCK + lanes"),
        "a place in the table < columns, and all rows are read": (
            "mask_of_address",
            partial(of_address, "offsets < columns", 3),
        ),
        "a place in the table < its length": (
            "mask_of_address",
            partial(of_address, "offsets < columns * columns"),
        ),
        "lanes of two programs": ("lanes_meet", partial(meets, FLAT, message=ANOTHER)),
        "a read of what another program wrote": (
            "lanes_meet",
            partial(meets, FLAT, message=ANOTHER.replace("writes another value to", "reads")),
        ),
        "other lanes in the address": nearly(BLOCKS, "lanes < n", "tl.arange(0, 64) * 2"),
    }
)
