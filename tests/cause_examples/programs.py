"""Kernels of programs and lanes: addresses, loops, reductions and grids."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from evidences import UNWRITTEN, evidence_of, refused, spec_of, use, witness_of
from torch import Tensor

from cause_examples.example import near, shown
from grader.correctness.evidence import Evidence, Witness
from grader.model import Case, Failure, Frame, LaunchRef
from grader.spec import scalar

VECTOR = spec_of(lambda i: {"out": i["x"] * 1.0}, "x")
TABLE = spec_of(lambda i: {"out": i["x"] * 1.0}, "x", largest=(100, 100))
ROWS = spec_of(
    lambda i: {"out": i["x"].amax(-1)}, "x", shape=lambda i: i["x"].shape[:1], largest=(9, 100)
)
OUTSIDE = "load reads 3 elements past the end of x; 3 of 8 active lanes are outside: does its mask"


def failed(source: str, line: int, kind: str = "out_of_bounds", message: str = OUTSIDE) -> Failure:
    code = source.splitlines()[line - 1]
    frame = Frame(line=line, function="kernel", code=code)
    return Failure(kind=kind, message=message, frames=(frame,) if line else ())


TILE = """@triton.jit
def kernel(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * 16 + tl.arange(0, 16)
    column = tl.program_id(1) * 32 + tl.arange(0, 32)
    offsets = {offsets}
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x, mask=inside)

def run(x, out):
    {shape} = x.shape
    kernel[(triton.cdiv(rows, 16), triton.cdiv(columns, 32))](x, out, rows, columns, BLOCK=64)
"""


def tile(offsets: str, shape: str = "rows, columns") -> Evidence:
    source = TILE.format(offsets=offsets, shape=shape)
    return refused(failed(source, 7), source, TABLE)


ROW = """@triton.jit
def kernel(x_ptr, out_ptr, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange({first}, BLOCK)
    inside = lanes < columns
    x = tl.load(x_ptr + {address}, mask=inside, other=float("-inf"))
    tl.store(out_ptr + row, tl.max(x, axis=0))

def run(x, out):
    rows, columns = x.shape
    {launch}
"""
BY_ROWS = "kernel[(rows,)](x, out, columns, x.stride(0), BLOCK=64)"
BY_COLUMNS = "kernel[(columns,)](x, out, columns, x.stride(0), BLOCK=64)"


def row(
    address: str, launch: str = BY_ROWS, first: str = "0", line: int = 6, message: str = OUTSIDE
) -> Evidence:
    source = ROW.format(address=address, launch=launch, first=first)
    return refused(failed(source, line, message=message), source, ROWS)


ONE_PAST = "load reads 1 element past the end of x; 1 of 8 active lanes are outside: is the"


COUNTED = """@triton.jit
def kernel(x_ptr, out_ptr, n):
    {body}

def run(x, out):
    rows, columns = x.shape
    kernel[{grid}](x, out, x.numel())
"""
TOO_MANY = "1,000 programs in all, where 16 are enough"
TOO_BUSY = "the busiest program loads 9 times, where once is enough"
ONE = "i = tl.program_id(0)\n    tl.store(out_ptr + i, tl.load(x_ptr + i))"
BLOCK = (
    "i = tl.program_id(0) * 64 + tl.arange(0, 64)\n    tl.store(out_ptr + i, tl.load(x_ptr + i))"
)
SINGLE = BLOCK.replace("* 64", "").replace("64", "1")
LOOP = "for p in range(n):\n        i = p + tl.arange(0, 64)\n        tl.load(x_ptr + i)"
SHORT = """for p in range(9):
        i = p * 64 + tl.arange(0, 64)
        tl.store(out_ptr + i, tl.load(x_ptr + i))"""
LARGE = "the busiest program moves 24,576 bytes, where 12,288 are enough"
TURNS = """i = tl.arange(0, 64)
    for p in range(n):
        tl.store(out_ptr + p, tl.load(x_ptr + p))"""


def counted(body: str, message: str, grid: str = "(n,)", line: int = 0) -> Evidence:
    source = COUNTED.format(body=body, grid=grid)
    return refused(failed(source, line, "counts", message), source, VECTOR)


LOOPED = """@triton.jit
def kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr, SIZE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, {lanes})
    kept = tl.zeros((BLOCK,), tl.float32)
    for start in range({range}):
        offsets = {offsets}
        x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other={other})
        {turn}
    tl.store(out_ptr + row, tl.max(kept, axis=0))
"""
ADDS = "kept = tl.maximum(kept, x)"


def looped(
    turn: str = ADDS,
    range_: str = "0, columns, BLOCK",
    offsets: str = "start + lanes",
    lanes: str = "BLOCK",
    **fields: Any,
) -> Evidence:
    """Values that are wrong in no way that says anything by itself."""
    source = LOOPED.format(range=range_, offsets=offsets, lanes=lanes, turn=turn, other=0.0)

    def kernel(inputs: Any) -> dict[str, Tensor]:
        return {"out": inputs["x"].amax(-1) + 1.5 * inputs["x"][:, 0].sin() + 7}

    return evidence_of(ROWS, kernel, (3, 9), (5, 40), source=source, **fields)


FILLED = """@triton.jit
def kernel(x_ptr, out_ptr, columns):
    lanes = tl.arange(0, 8)
    inside = lanes < columns
    x = tl.load(x_ptr + tl.program_id(0) * columns + lanes, mask=inside, other={other})
    y = {value}
    tl.store(out_ptr + tl.program_id(0), y)
"""


def filled(value: str, other: str, wrong_when_full: bool = False) -> Evidence:
    """A kernel that is wrong in rows of less than 8, which other= fills up; or in all rows."""

    def kernel(inputs: Any) -> dict[str, Tensor]:
        short = inputs["x"].shape[-1] % 8 != 0
        return {"out": inputs["x"].amax(-1) + 100.0 * (short or wrong_when_full)}

    marks = torch.ones(2, 5)
    return evidence_of(
        ROWS,
        kernel,
        (2, 5),
        source=FILLED.format(value=value, other=other),
        uses=[use(5, "read", "x", marks, lanes=8, masked=True)],
    )


GAPS = """@triton.jit
def kernel(x_ptr, out_ptr, rows, columns):
    row = {row}
    column = {column}
    tl.store(out_ptr + row[:, None] * columns + column[None, :], 1.0)

def run(x, out):
    rows, columns = x.shape{sizes}
    kernel[{grid}](x, out, {given})
"""
EACH_ROW = "tl.program_id(0) + tl.arange(0, 1)"
DOWN, ACROSS = ("tl.program_id(0) * 4 + tl.arange(0, 4)", "tl.program_id(1) * 8 + tl.arange(0, 8)")
BOTH = "(triton.cdiv(rows, 4), triton.cdiv(columns, 8))"


def gaps(
    reached: tuple[int, int],
    grid: tuple[int, int, int],
    down: str,
    across: str,
    text: str = BOTH,
    columns: int = 20,
    given: str = "rows, columns",
) -> Evidence:
    """A table of 10 rows of which only the first rows and columns are written."""

    def kernel(inputs: Any) -> dict[str, Tensor]:
        out = inputs["x"].clone()
        out[reached[0] :] = UNWRITTEN
        out[:, reached[1] :] = UNWRITTEN
        return {"out": out}

    marks = torch.zeros(10, columns)
    marks[: reached[0], : reached[1]] = 1
    sizes = "\n    sizes = rows, columns" if given == "*sizes" else ""
    return evidence_of(
        TABLE,
        kernel,
        (10, columns),
        source=GAPS.format(row=down, column=across, grid=text, given=given, sizes=sizes),
        uses=[use(5, "write", "out", marks, lanes=32)],
        grid=grid,
    )


SWAPPED = "(triton.cdiv(columns, 8), triton.cdiv(rows, 4))"
FIRST, SECOND = "tl.program_id(1) * 4 + tl.arange(0, 4)", "tl.program_id(0) * 8 + tl.arange(0, 8)"


def elements(change: Any, *shapes: tuple[int, ...]) -> Evidence:
    return evidence_of(VECTOR, lambda i: {"out": change(i["x"])}, *shapes)


EXPONENTIAL = """@triton.jit
def kernel(x_ptr, out_ptr):
    x = tl.load(x_ptr)
    y = tl.exp({exponent})
    tl.store(out_ptr, y / tl.sum(y))
"""


def far_below_0(exponent: str) -> Evidence:
    """A softmax without a maximum, of rows far below 0."""
    spec = spec_of(lambda i: {"out": i["x"].softmax(-1)}, "x")

    def kernel(inputs: Any) -> dict[str, Tensor]:
        terms = inputs["x"].exp()
        return {"out": terms / terms.sum(-1, keepdim=True)}

    source = EXPONENTIAL.format(exponent=exponent)
    given = {"x": torch.full((2, 2), -200.0)}
    return evidence_of(spec, kernel, (2, 2), (5, 9), given=given, source=source)


ADDRESS = """@triton.jit
def kernel(x_ptr, out_ptr, columns):
    row = tl.program_id(0)
    lanes = tl.arange(0, 8)
    for start in range(0, {end}, 8):
        x = tl.load(x_ptr + {address}, mask=lanes < columns)
    tl.store(out_ptr + row, tl.max(x, axis=0))
"""


def unread(address: str, read: Tensor, end: str = "columns") -> Evidence:
    """Only the rows are wrong of which something was not read."""

    def kernel(inputs: Any) -> dict[str, Tensor]:
        return {"out": inputs["x"].amax(-1) + 3.0 * (~read.bool()).any(1)}

    return evidence_of(
        ROWS,
        kernel,
        (3, 20),
        source=ADDRESS.format(address=address, end=end),
        uses=[use(6, "read", "x", read, lanes=8)],
        complete=True,
        launches=(LaunchRef("kernel", (3, 1, 1), (128, 1, 1)),),
    )


FIRST_ROW = torch.zeros(3, 20).index_fill(0, torch.tensor([0]), 1.0)
FIRST_BLOCK = torch.zeros(3, 20).index_fill(1, torch.arange(8), 1.0)
WHOLE_BLOCKS = torch.zeros(3, 20).index_fill(1, torch.arange(16), 1.0)


RUNNING = """@triton.jit
def kernel(x_ptr, out_ptr, columns):
    old = float("-inf")
    for start in range(0, columns, 8):
        x = tl.load(x_ptr + start + tl.arange(0, 8))
        new = tl.maximum(old, {block})
        total = total {exponent} + tl.sum(tl.exp(x - new))
        old = new
"""


def running(exponent: str, block: str = "tl.max(x)") -> Evidence:
    source = RUNNING.format(block=block, exponent=exponent)
    return evidence_of(
        ROWS, lambda i: {"out": i["x"].amax(-1) * torch.nan}, (3, 9), (5, 40), source=source
    )


PRODUCT = spec_of(lambda i: {"out": i["x"] * i["y"]}, "x", "y")
SUM = spec_of(lambda i: {"out": i["x"] + i["y"] * 1.0}, "x", "y")


def left_out(kernel: Any) -> Evidence:
    return evidence_of(SUM, kernel, (6,), (9,))


def scaled(by: float) -> Evidence:
    """Return x times a number where the task has a factor of 3, and of 7 in another case."""
    plain = spec_of(lambda i: {"out": i["x"] * i["by"]}, "x")
    spec = spec_of(plain.reference, "x", arguments=(*plain.arguments, scalar("by")))

    def kernel(inputs: Any) -> dict[str, Tensor]:
        return {"out": inputs["x"] * by}

    def again(case: Case) -> Witness:
        return witness_of(spec, kernel, case, {"by": 7.0})

    return evidence_of(spec, kernel, (6,), (9,), given={"by": 3.0}, attempt=again)


MORE = BY_ROWS.replace("(rows,)", "(rows + 1,)")
BLOCK_MORE = BY_ROWS.replace("(rows,)", "(rows // 8 + 1,)")
TURNED = BY_COLUMNS.replace("kernel", "n, m = x.shape; kernel").replace("(columns,)", "(m,)")
TURNED = TURNED.replace("out, columns", "out, n")
TWICE = "every element of x is read 8 times on average"
LOWEST = 'float("-inf")'


def halved(limit: float) -> Any:
    return lambda x: torch.where(x < limit, x / 2 + (x > 0), x)


EXAMPLES = shown(
    {
        "rows that lie as far apart as a column is high": (
            "own_length row_stride",
            partial(tile, "row[:, None] * rows + column[None, :]"),
            5,
        ),
        "a column's number times their number": (
            "own_length transposed",
            partial(tile, "row[:, None] + column[None, :] * columns"),
            5,
        ),
        "rows of a fixed length": (
            "own_length row_stride",
            partial(tile, "row[:, None] * 32 + column[None, :]"),
            5,
        ),
        "rows as long as a block": (
            "own_length row_stride",
            partial(row, "row * BLOCK + lanes"),
            6,
        ),
        "a program for each column": (
            "program_for_each_column grid_axes_swapped",
            partial(row, "row * columns + lanes", BY_COLUMNS),
            11,
        ),
        "a program for each column, by strides": (
            "program_for_each_column grid_axes_swapped",
            partial(row, "row * stride + lanes", BY_COLUMNS),
            11,
        ),
        "a shape that is unpacked the other way": (
            "program_for_each_column transposed",
            partial(row, "row * stride + lanes", TURNED),
            11,
        ),
        "a program's number that is added": (
            "unscaled_program block_index",
            partial(row, "row + lanes"),
            6,
        ),
        "a program's number that is added first": (
            "unscaled_program block_index",
            partial(row, "lanes + row"),
            6,
        ),
        "all lanes from 1": (
            "missing_mask off_by_one",
            partial(row, "row * columns + lanes", first="1", message=ONE_PAST),
            4,
        ),
        "all lanes from 1, and a stride": (
            "missing_mask off_by_one",
            partial(row, "row * stride + lanes", first="1", message=ONE_PAST),
            4,
        ),
        "a program more than rows": (
            "missing_mask off_by_one",
            partial(row, "row * columns + lanes", MORE, message=ONE_PAST),
            11,
        ),
        "lanes from 1, far outside": (
            "missing_mask",
            partial(row, "row * columns + lanes", first="1"),
            6,
        ),
        "a block more than whole ones": (
            "missing_mask",
            partial(row, "row * columns + lanes", BLOCK_MORE, message=ONE_PAST),
            6,
        ),
        "a program for each element, busy": (
            "one_program one_thread",
            partial(counted, ONE, TOO_BUSY, line=4),
            3,
        ),
        "a program for each element, in the traffic": (
            "one_program one_thread",
            partial(counted, ONE, TWICE, line=4),
            3,
        ),
        "one program for all": (
            "one_program one_thread",
            partial(counted, LOOP, TOO_BUSY, "(1,)", 5),
            3,
        ),
        "one element a turn": (
            "one_program one_thread",
            partial(counted, TURNS, TOO_BUSY, line=5),
            4,
        ),
        "short blocks": ("one_program small_block", partial(counted, SHORT, TOO_BUSY, line=5), 5),
        "an accumulator that is set": ("last_block_kept", partial(looped, "kept = x"), 9),
        "an accumulator that is set by a condition": (
            "last_block_kept",
            partial(looped, "kept = tl.where(offsets < columns, x, 0.0)"),
            9,
        ),
        "a step of half a block": (
            "block_step block_index",
            partial(looped, range_="0, columns, 64", lanes="128"),
            6,
        ),
        "a step of 1": (
            "block_step block_index",
            partial(looped, range_="columns", lanes="128"),
            6,
        ),
        "a step of another size": (
            "block_step block_index",
            partial(looped, range_="0, columns, SIZE"),
            6,
        ),
        "0 in a maximum": (
            "filled_lanes masked_lanes",
            partial(filled, "tl.max(x, axis=0)", "0.0"),
            5,
        ),
        "minus infinity in a minimum": (
            "filled_lanes masked_lanes",
            partial(filled, "tl.min(x, axis=0)", LOWEST),
            5,
        ),
        "minus infinity in a sum": (
            "filled_lanes masked_lanes",
            partial(filled, "tl.sum(x, axis=0)", LOWEST),
            5,
        ),
        "exp of 0 in a sum": (
            "filled_lanes masked_lanes",
            partial(filled, "tl.sum(tl.exp(x), axis=0)", "0"),
            5,
        ),
        "axes exchanged in the kernel": (
            "never_written grid_axes_swapped",
            partial(gaps, (10, 24), (3, 5, 1), FIRST, SECOND, columns=40),
            3,
        ),
        "axes exchanged in the launch": (
            "never_written grid_axes_swapped",
            partial(gaps, (10, 24), (5, 3, 1), DOWN, ACROSS, SWAPPED, columns=40),
            9,
        ),
        "an axis across that nobody asks for": (
            "never_written program_id_unused",
            partial(gaps, (10, 8), (3, 3, 1), DOWN, "tl.arange(0, 8)"),
            4,
        ),
        "an axis down that nobody asks for": (
            "never_written program_id_unused",
            partial(gaps, (4, 20), (3, 3, 1), "tl.arange(0, 4)", ACROSS),
            3,
        ),
        "an axis that the grid lacks": (
            "never_written grid_too_small",
            partial(gaps, (10, 8), (3, 1, 1), DOWN, ACROSS, "(triton.cdiv(rows, 4),)"),
            9,
        ),
        "an axis that a number of programs lacks": (
            "never_written grid_too_small",
            partial(gaps, (10, 8), (3, 1, 1), DOWN, ACROSS, "triton.cdiv(rows, 4),"),
            9,
        ),
        "an axis that a grid of all rows lacks": (
            "never_written grid_too_small",
            partial(gaps, (10, 8), (10, 1, 1), EACH_ROW, ACROSS, "(rows,)"),
            9,
        ),
        "an axis that the grid of a listed launch lacks": (
            "never_written grid_too_small",
            partial(gaps, (10, 8), (10, 1, 1), EACH_ROW, ACROSS, "(rows,)", given="*sizes"),
            10,
        ),
        "negative elements that become positive": (
            "negative_inputs",
            partial(elements, torch.abs, (60,), (90,)),
        ),
        "negative elements that are halved": (
            "negative_inputs",
            partial(elements, halved(0.0), (60,), (90,)),
        ),
        "an exponential without a maximum": ("overflow", partial(far_below_0, "x"), 4),
        "an exponential of a product": ("overflow", partial(far_below_0, "x * 1.0"), 4),
        "rows below 0, and a maximum": ("negative_inputs", partial(far_below_0, "x - tl.max(x)")),
        "an address without the program, and a first row": (
            "never_read program_id_unused",
            partial(unread, "start + lanes", FIRST_ROW),
            6,
        ),
        "an address without the turn": (
            "never_read block_index",
            partial(unread, "row * columns + lanes", FIRST_BLOCK),
            6,
        ),
        "a loop that ends a block early": (
            "never_read tail",
            partial(unread, "row * columns + start + lanes", WHOLE_BLOCKS, "columns - 8"),
            5,
        ),
        "an address with program and turn": (
            "never_read",
            partial(unread, "row * columns + start + lanes", WHOLE_BLOCKS),
            6,
        ),
        "a factor that grows with the maximum": (
            "rescale",
            partial(running, "* tl.exp(new - old)"),
            7,
        ),
        "a divisor that shrinks with it": (
            "rescale",
            partial(running, "/ tl.exp(old - new)", "x"),
            7,
        ),
        "an input that is left out": (
            "left_out formula",
            partial(left_out, lambda i: {"out": i["x"]}),
        ),
        "an input that is 1": (
            "left_out formula",
            partial(left_out, lambda i: {"out": i["x"] + 1}),
        ),
        "a missing factor": ("left_out factor", partial(scaled, 1.0)),
    }
) | near(
    {
        "a table in order": (
            "own_length",
            partial(tile, "row[:, None] * columns + column[None, :]"),
        ),
        "a table that lies by columns": (
            "own_length",
            partial(tile, "column[None, :] * rows + row[:, None]"),
        ),
        "lengths of which the launch says nothing": (
            "own_length",
            partial(tile, "row[:, None] * rows + column[None, :]", "height, width"),
        ),
        "rows that begin by their stride": ("own_length", partial(row, "row * stride + lanes")),
        "a program for each column, which takes a column": (
            "program_for_each_column",
            partial(row, "lanes * stride + row", BY_COLUMNS),
        ),
        "a program for each row": (
            "program_for_each_column",
            partial(row, "row * columns + lanes"),
        ),
        "a program's number times a length": (
            "unscaled_program",
            partial(row, "row * columns + lanes"),
        ),
        "one place for all lanes": ("unscaled_program", partial(row, "row")),
        "programs that have nothing to do": ("one_program", partial(counted, BLOCK, TOO_MANY)),
        "blocks that are read twice": ("one_program", partial(counted, BLOCK, TWICE, line=4)),
        "blocks that are too large": ("one_program", partial(counted, BLOCK, LARGE, line=4)),
        "turns that load too much": ("one_program", partial(counted, SHORT, LARGE, line=5)),
        "a load that is no turn of a loop": (
            "one_program",
            partial(counted, BLOCK, TOO_BUSY, line=4),
        ),
        "an accumulator that goes on": ("last_block_kept", looped),
        "an accumulator that goes on by another name": (
            "last_block_kept",
            partial(looped, "more = kept + x\n        kept = more"),
        ),
        "a block that a turn uses itself": (
            "last_block_kept",
            partial(looped, "kept = x\n        y = kept * 2"),
        ),
        "a step of a block": ("block_step", partial(looped, range_="0, columns, 128", lanes="128")),
        "a number of blocks": (
            "block_step",
            partial(looped, range_="columns", offsets="start * BLOCK + lanes"),
        ),
        "a step that may be the same": ("block_step", partial(looped, range_="0, columns, 64")),
        "minus infinity in a maximum": (
            "filled_lanes",
            partial(filled, "tl.max(x, axis=0)", LOWEST),
        ),
        "exp of minus infinity in a sum": (
            "filled_lanes",
            partial(filled, "tl.sum(tl.exp(x), axis=0)", LOWEST),
        ),
        "lanes that are replaced": (
            "filled_lanes",
            partial(filled, "tl.min(tl.where(inside, x, 9e9), axis=0)", LOWEST),
        ),
        "whole blocks that are wrong as well": (
            "filled_lanes",
            partial(filled, "tl.max(x, axis=0)", "0.0", True),
        ),
        "a gap in the last block": (
            "never_written",
            partial(gaps, (10, 9), (3, 3, 1), DOWN, ACROSS),
        ),
        "a grid of which the text says nothing": (
            "never_written",
            partial(gaps, (9, 8), (3, 1, 1), DOWN, ACROSS, "grid"),
        ),
        "only some of the negative elements": (
            "negative_inputs",
            partial(elements, halved(-0.9), (60,), (90,)),
        ),
        "positive elements as well": (
            "negative_inputs",
            partial(elements, halved(0.4), (60,), (90,)),
        ),
        "rows below 0, and no maximum at all": ("negative_inputs", partial(far_below_0, "x")),
        "a factor that shrinks": ("rescale", partial(running, "* tl.exp(old - new)")),
        "a divisor that grows": ("rescale", partial(running, "/ tl.exp(new - old)")),
        "an input that is squared": (
            "left_out",
            partial(left_out, lambda i: {"out": i["x"] + i["y"] * i["y"]}),
        ),
        "an input that is a half": ("left_out", partial(left_out, lambda i: {"out": i["x"] + 0.5})),
        "an output of zeros, as an input of zeros gives": (
            "left_out",
            partial(evidence_of, PRODUCT, lambda i: {"out": i["x"] * 0.0}, (6,), (9,)),
        ),
        "one element that is 0": (
            "left_out",
            partial(evidence_of, PRODUCT, lambda i: {"out": i["x"] - i["x"]}, (1,), (1,)),
        ),
        "another factor": ("left_out", partial(scaled, 0.3)),
    }
)
