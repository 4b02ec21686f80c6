"""Causes in kernels of programs and lanes: two kernels that show each, two near misses."""

from __future__ import annotations

import pytest
import torch
from evidences import UNWRITTEN, cause_of, evidence_of, refused, spec_of, use, witness_of
from torch import Tensor

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
ADDRESSES = {
    "rows that lie as far apart as a column is high": (
        "row_stride", 5, tile("row[:, None] * rows + column[None, :]")),
    "a column's number times their number": (
        "transposed", 5, tile("row[:, None] + column[None, :] * columns")),
    "rows of a fixed length": ("row_stride", 5, tile("row[:, None] * 32 + column[None, :]")),
    "rows as long as a block": ("row_stride", 6, row("row * BLOCK + lanes")),
    "a program for each column": (
        "grid_axes_swapped", 11, row("row * columns + lanes", BY_COLUMNS)),
    "a program for each column, by strides": (
        "grid_axes_swapped", 11, row("row * stride + lanes", BY_COLUMNS)),
    "a program's number that is added": ("block_index", 6, row("row + lanes")),
    "a program's number that is added first": ("block_index", 6, row("lanes + row")),
    "lanes from 1": ("off_by_one", 4, row("row * columns + lanes", first="1", message=ONE_PAST)),
    "lanes from 1, and a stride": (
        "off_by_one", 4, row("row * stride + lanes", first="1", message=ONE_PAST)),
    "a program more than rows": ("off_by_one", 11, row(
        "row * columns + lanes", BY_ROWS.replace("(rows,)", "(rows + 1,)"), message=ONE_PAST)),
    "a program more than rows by shape": ("off_by_one", 11, row(
        "row * columns + lanes", BY_ROWS.replace("(rows,)", "(x.shape[0] + 1,)"),
        message=ONE_PAST)),
}  # fmt: skip
PLAIN = {  # all that is left is the mask, which each of them has
    "a table in order": tile("row[:, None] * columns + column[None, :]"),
    "a table that lies by columns": tile("column[None, :] * rows + row[:, None]"),
    "lengths of which the launch says nothing": tile(
        "row[:, None] * rows + column[None, :]", "height, width"
    ),
    "rows by their stride": row("row * stride + lanes"),
    "a program for each column, which takes a column": row("lanes * stride + row", BY_COLUMNS),
    "a program's number times a length": row("row * columns + lanes"),
    "one place for all lanes": row("row"),
    "lanes from 1, far outside": row("row * columns + lanes", first="1"),
    "a block more": row(
        "row * columns + lanes",
        BY_ROWS.replace("(rows,)", "(rows // 8 + 1,)"),
        message=ONE_PAST,
    ),
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_out_of_bounds(name: str) -> None:
    word, line, evidence = ADDRESSES[name]
    assert cause_of(evidence) == (word, line)


@pytest.mark.parametrize("name", PLAIN)
def test_an_address_that_only_a_mask_could_limit(name: str) -> None:
    found = cause_of(PLAIN[name])
    assert found is not None
    assert found[0] == "missing_mask"


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
TURNS = """i = tl.arange(0, 64)
    for p in range(n):
        tl.store(out_ptr + p, tl.load(x_ptr + p))"""


def counted(body: str, message: str, grid: str = "(n,)", line: int = 0) -> Evidence:
    source = COUNTED.format(body=body, grid=grid)
    return refused(failed(source, line, "counts", message), source, VECTOR)


COUNTS = {
    "a program for each element": ("one_thread", 3, counted(ONE, TOO_MANY)),
    "a program for each element, in the traffic": (
        "one_thread", 3, counted(ONE, "every element of x is read 8 times on average", line=4)),
    "blocks of one": ("small_block", 3, counted(SINGLE, TOO_MANY)),
    "rows of one": ("small_block", 3, counted(
        SINGLE.replace("i =", "i = tl.arange(0, 32)[None, :] +"), TOO_MANY)),
    "one program for all": ("one_thread", 3, counted(LOOP, TOO_BUSY, "(1,)", 5)),
    "one program for all, by a number": ("one_thread", 3, counted(LOOP, TOO_BUSY, "1,", 5)),
    "one element a turn": ("one_thread", 4, counted(TURNS, TOO_BUSY, line=5)),
    "one element a turn, and stores": (
        "one_thread", 4, counted(TURNS, TOO_BUSY.replace("loads", "stores"), line=5)),
    "short blocks": ("small_block", 4, counted(BLOCK, TOO_BUSY, line=4)),
    "short blocks in a loop": ("small_block", 5, counted(LOOP, TOO_BUSY, line=5)),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_work_that_is_shared_out_badly(name: str) -> None:
    word, line, evidence = COUNTS[name]
    assert cause_of(evidence) == (word, line)


def test_work_of_which_nothing_is_known() -> None:
    assert cause_of(counted(BLOCK, TOO_MANY)) is None, "programs that have nothing to do"
    read_twice = counted(BLOCK, "every element of x is read 2 times on average", line=4)
    assert cause_of(read_twice) == ("repeated_access", 4)


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
    **fields: object,
) -> Evidence:
    """Values that are wrong in no way that says anything by itself."""
    source = LOOPED.format(range=range_, offsets=offsets, lanes=lanes, turn=turn, other=0.0)

    def kernel(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"out": inputs["x"].amax(-1) + 1.5 * inputs["x"][:, 0].sin() + 7}

    return evidence_of(ROWS, kernel, (3, 9), (5, 40), source=source, **fields)  # type: ignore[arg-type]


TURN = {
    "an accumulator that is set": ("last_block_kept", 9, looped("kept = x")),
    "one that is set by a condition": (
        "last_block_kept", 9, looped("kept = tl.where(offsets < columns, x, 0.0)")),
    "a step of half a block": ("block_index", 6, looped(range_="0, columns, 64", lanes="128")),
    "a step of 1": ("block_index", 6, looped(range_="columns", lanes="128")),
    "a step of another size": ("block_index", 6, looped(range_="0, columns, SIZE")),
}  # fmt: skip
NO_TURN = {
    "an accumulator that goes on": looped(),
    "one that goes on by another name": looped("more = kept + x\n        kept = more"),
    "one that a turn uses itself": looped("kept = x\n        y = kept * 2"),
    "a step of a block": looped(range_="0, columns, 128", lanes="128"),
    "a number of blocks": looped(range_="columns", offsets="start * BLOCK + lanes"),
    "a step that may be the same": looped(range_="0, columns, 64"),
}


@pytest.mark.parametrize("name", TURN)
def test_turns_of_a_loop(name: str) -> None:
    word, line, evidence = TURN[name]
    assert cause_of(evidence) == (word, line)


@pytest.mark.parametrize("name", NO_TURN)
def test_turns_that_are_in_order(name: str) -> None:
    assert cause_of(NO_TURN[name]) is None


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

    def kernel(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        short = inputs["x"].shape[-1] % 8 != 0
        return {"out": inputs["x"].amax(-1) + 100.0 * (short or wrong_when_full)}

    marks = torch.ones(2, 5)
    return evidence_of(
        ROWS,
        kernel,  # type: ignore[arg-type]
        (2, 5),
        source=FILLED.format(value=value, other=other),
        uses=[use(5, "read", "x", marks, lanes=8, masked=True)],
    )


FILLS = {
    "0 in a maximum": filled("tl.max(x, axis=0)", "0.0"),
    "minus infinity in a minimum": filled("tl.min(x, axis=0)", 'float("-inf")'),
    "minus infinity in a sum": filled("tl.sum(x, axis=0)", '-float("inf")'),
    "1 in a sum": filled("tl.sum(x * 1.0, axis=0)", "1"),
    "exp of 0 in a sum": filled("tl.sum(tl.exp(x), axis=0)", "0"),
}
NO_FILLS = {
    "minus infinity in a maximum": filled("tl.max(x, axis=0)", 'float("-inf")'),
    "exp of minus infinity in a sum": filled("tl.sum(tl.exp(x), axis=0)", 'float("-inf")'),
    "lanes that are replaced": filled("tl.min(tl.where(inside, x, 9e9), axis=0)", 'float("-inf")'),
    "whole blocks that are wrong as well": filled("tl.max(x, axis=0)", "0.0", True),
}


@pytest.mark.parametrize("name", FILLS)
def test_lanes_that_enter_a_reduction(name: str) -> None:
    assert cause_of(FILLS[name]) == ("masked_lanes", 5)


@pytest.mark.parametrize("name", NO_FILLS)
def test_lanes_that_change_no_reduction(name: str) -> None:
    found = cause_of(NO_FILLS[name])
    assert found is None or found[0] != "masked_lanes"


GAPS = """@triton.jit
def kernel(x_ptr, out_ptr, rows, columns):
    row = {row}
    column = {column}
    tl.store(out_ptr + row[:, None] * columns + column[None, :], 1.0)

def run(x, out):
    rows, columns = x.shape
    kernel[{grid}](x, out, rows, columns)
"""
DOWN, ACROSS = ("tl.program_id(0) * 4 + tl.arange(0, 4)", "tl.program_id(1) * 8 + tl.arange(0, 8)")
BOTH = "(triton.cdiv(rows, 4), triton.cdiv(columns, 8))"


def gaps(
    reached: tuple[int, int],
    grid: tuple[int, int, int],
    down: str,
    across: str,
    text: str = BOTH,
    columns: int = 20,
) -> Evidence:
    """A table of 10 rows of which only the first rows and columns are written."""

    def kernel(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        out = inputs["x"].clone()
        out[reached[0] :] = UNWRITTEN
        out[:, reached[1] :] = UNWRITTEN
        return {"out": out}

    marks = torch.zeros(10, columns)
    marks[: reached[0], : reached[1]] = 1
    return evidence_of(
        TABLE,
        kernel,  # type: ignore[arg-type]
        (10, columns),
        source=GAPS.format(row=down, column=across, grid=text),
        uses=[use(5, "write", "out", marks, lanes=32)],
        grid=grid,
    )


SWAPPED = "(triton.cdiv(columns, 8), triton.cdiv(rows, 4))"
FIRST, SECOND = "tl.program_id(1) * 4 + tl.arange(0, 4)", "tl.program_id(0) * 8 + tl.arange(0, 8)"
LEFT_OUT = {
    "axes exchanged in the kernel": (
        "grid_axes_swapped", 3, gaps((10, 24), (3, 5, 1), FIRST, SECOND, columns=40)),
    "axes exchanged in the launch": (
        "grid_axes_swapped", 9, gaps((10, 24), (5, 3, 1), DOWN, ACROSS, SWAPPED, columns=40)),
    "an axis that nobody asks for": (
        "program_id_unused", 4, gaps((10, 8), (3, 3, 1), DOWN, "tl.arange(0, 8)")),
    "the other axis": (
        "program_id_unused", 3, gaps((4, 20), (3, 3, 1), "tl.arange(0, 4)", ACROSS)),
    "an axis that the grid lacks": (
        "grid_too_small", 9, gaps((10, 8), (3, 1, 1), DOWN, ACROSS, "(triton.cdiv(rows, 4),)")),
    "an axis that a number of programs lacks": (
        "grid_too_small", 9, gaps((10, 8), (3, 1, 1), DOWN, ACROSS, "triton.cdiv(rows, 4),")),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT_OUT)
def test_axes_of_a_grid(name: str) -> None:
    word, line, evidence = LEFT_OUT[name]
    assert cause_of(evidence) == (word, line)


@pytest.mark.parametrize(
    "evidence",
    [
        gaps((10, 9), (3, 3, 1), DOWN, ACROSS),
        gaps((7, 20), (3, 3, 1), DOWN, ACROSS),
        gaps((9, 8), (3, 1, 1), DOWN, ACROSS, "grid"),
    ],
)
def test_a_gap_that_no_axis_explains(evidence: Evidence) -> None:
    assert cause_of(evidence) is None


def elements(change: object, *shapes: tuple[int, ...]) -> Evidence:
    return evidence_of(VECTOR, lambda i: {"out": change(i["x"])}, *shapes)  # type: ignore[operator]


def test_elements_below_0() -> None:
    """Those that only become positive, and those that stay: not a few, and not others as well."""
    assert cause_of(elements(torch.abs, (60,), (90,))) is not None
    halved = elements(lambda x: torch.where(x < 0, x / 2, x), (60,), (90,))
    absolute = elements(torch.abs, (60,), (90,))
    assert {cause_of(halved), cause_of(absolute)} == {("negative_inputs", 0)}
    some = elements(lambda x: torch.where(x < -0.9, x / 2, x), (60,), (90,))
    others = elements(lambda x: torch.where(x < 0.4, x / 3 + 1, x), (60,), (90,))
    for near in (some, others):
        found = cause_of(near)
        assert found is None or found[0] != "negative_inputs"


def test_an_input_that_is_left_out() -> None:
    spec = spec_of(lambda i: {"out": i["x"] + i["y"] * 1.0}, "x", "y")

    def found(change: object) -> tuple[str, int] | None:
        return cause_of(evidence_of(spec, change, (6,), (9,)))  # type: ignore[arg-type]

    assert found(lambda i: {"out": i["x"]}) == ("formula", 0)
    assert found(lambda i: {"out": i["x"] + 1}) == ("formula", 0)
    assert found(lambda i: {"out": i["x"] + i["y"] * i["y"]}) is None
    assert found(lambda i: {"out": i["x"] + 0.5}) is None


EXPONENTIAL = """@triton.jit
def kernel(x_ptr, out_ptr):
    x = tl.load(x_ptr)
    y = tl.exp({exponent})
    tl.store(out_ptr, y / tl.sum(y))
"""


@pytest.mark.parametrize(
    ("exponent", "word"),
    [
        ("x", "overflow"),
        ("x * 1.0", "overflow"),
        ("x - tl.max(x)", "negative_inputs"),
        ("-x", "negative_inputs"),
    ],
)
def test_rows_far_below_0(exponent: str, word: str) -> None:
    """Without any maximum, no maximum begins at 0."""
    spec = spec_of(lambda i: {"out": i["x"].softmax(-1)}, "x")

    def kernel(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        terms = inputs["x"].exp()
        return {"out": terms / terms.sum(-1, keepdim=True)}

    source = EXPONENTIAL.format(exponent=exponent)
    given = {"x": torch.full((2, 2), -200.0)}
    evidence = evidence_of(spec, kernel, (2, 2), (5, 9), given=given, source=source)  # type: ignore[arg-type]
    found = cause_of(evidence)
    assert found is not None
    assert found[0] == word


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

    def kernel(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"out": inputs["x"].amax(-1) + 3.0 * (~read.bool()).any(1)}

    return evidence_of(
        ROWS,
        kernel,  # type: ignore[arg-type]
        (3, 20),
        source=ADDRESS.format(address=address, end=end),
        uses=[use(6, "read", "x", read, lanes=8)],
        complete=True,
        launches=(LaunchRef("kernel", (3, 1, 1), (128, 1, 1)),),
    )


FIRST_ROW = torch.zeros(3, 20).index_fill(0, torch.tensor([0]), 1.0)
FIRST_BLOCK = torch.zeros(3, 20).index_fill(1, torch.arange(8), 1.0)
WHOLE_BLOCKS = torch.zeros(3, 20).index_fill(1, torch.arange(16), 1.0)


@pytest.mark.parametrize(
    ("word", "line", "evidence"),
    [
        ("program_id_unused", 4, unread("start + lanes", FIRST_ROW)),
        ("program_id_unused", 4, unread("lanes + start", FIRST_ROW)),
        ("block_index", 6, unread("row * columns + lanes", FIRST_BLOCK)),
        ("block_index", 6, unread("lanes + columns * row", FIRST_BLOCK)),
        ("tail", 5, unread("row * columns + start + lanes", WHOLE_BLOCKS, "columns - 8")),
        ("tail", 5, unread("start + row * columns + lanes", WHOLE_BLOCKS, "columns - 8")),
        ("never_read", 6, unread("row * columns + start + lanes", WHOLE_BLOCKS)),
        ("never_read", 6, unread("row * columns + start + lanes", FIRST_BLOCK, "columns - 1")),
    ],
)
def test_elements_that_no_address_reaches(word: str, line: int, evidence: Evidence) -> None:
    assert cause_of(evidence) == (word, line)


RUNNING = """@triton.jit
def kernel(x_ptr, out_ptr, columns):
    old = float("-inf")
    for start in range(0, columns, 8):
        x = tl.load(x_ptr + start + tl.arange(0, 8))
        new = tl.maximum(old, {block})
        total = total {exponent} + tl.sum(tl.exp(x - new))
        old = new
"""


@pytest.mark.parametrize(
    ("block", "exponent", "expected"),
    [
        ("tl.max(x)", "* tl.exp(new - old)", ("rescale", 7)),
        ("x", "/ tl.exp(old - new)", ("rescale", 7)),
        ("tl.max(x)", "* tl.exp(old - new)", None),
        ("tl.max(x)", "/ tl.exp(new - old)", None),
        ("tl.max(x)", "* tl.exp(x - old)", None),
    ],
)
def test_the_factor_of_a_running_sum(
    block: str, exponent: str, expected: tuple[str, int] | None
) -> None:
    def kernel(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"out": inputs["x"].amax(-1) * torch.nan}

    source = RUNNING.format(block=block, exponent=exponent)
    evidence = evidence_of(ROWS, kernel, (3, 9), (5, 40), source=source)  # type: ignore[arg-type]
    assert cause_of(evidence) == expected


RACED = """@cuda.jit
def kernel(a, counts):
    i = cuda.grid(1)
    {line}
"""


@pytest.mark.parametrize(
    ("line", "hint", "expected"),
    [
        ("counts[a[i]] += 1", "use cuda.atomic.add", ("not_atomic", 4)),
        ("counts[0] -= a[i]", "use cuda.atomic.add", ("not_atomic", 4)),
        ("counts[0] = a[i]", "use cuda.atomic.add", ("race", 4)),
        ("counts[a[i]] += 1", "use a barrier", None),
    ],
)
def test_a_race_in_an_exercise_that_teaches_atomics(
    line: str, hint: str, expected: tuple[str, int] | None
) -> None:
    """Elsewhere the simulator's own advice stays, which offers what is taught."""
    spec = spec_of(lambda i: {"out": i["x"]}, "x", hints=("one", "two", hint))
    source = RACED.format(line=line)
    evidence = refused(failed(source, 4, "race", "two threads"), source, spec, "@cuda.jit")
    assert cause_of(evidence) == expected


def factor(scaled: float) -> tuple[str, int] | None:
    spec = spec_of(lambda i: {"out": i["x"] * i["by"]}, "x")
    spec = spec_of(spec.reference, "x", arguments=(*spec.arguments, scalar("by")))  # type: ignore[arg-type]
    given = {"by": 3.0}

    def again(case: Case) -> Witness:
        return witness_of(spec, lambda i: {"out": i["x"] * scaled}, case, {"by": 7.0})

    kernel = {"out": scaled}
    return cause_of(
        evidence_of(
            spec, lambda i: {"out": i["x"] * kernel["out"]}, (6,), (9,), given=given, attempt=again
        )
    )


def test_a_factor_that_is_missing() -> None:
    assert factor(1.0) == ("factor", 0)
    assert factor(0.3) is None
