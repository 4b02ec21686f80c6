"""Kernels of beginners whose hints are golden files: each word of them has to be right."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from evidences import UNWRITTEN, evidence_of, refused, spec_of, use, witness_of
from torch import Tensor

from cause_examples.example import Example, near, shown
from grader.correctness.evidence import Evidence
from grader.model import Failure, Frame, LaunchRef, Traced

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


RETURNS = """@cuda.jit(device=True)
def total_of(value):
    shared = cuda.shared.array(8, float32)
    shared[cuda.threadIdx.x] = value
    cuda.syncthreads()
    return shared[0]

@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    if {test}:
        return
    {meeting}
    if t >= x.size:
        return
    out[t] = shared[t]

def run(x, out):
    kernel[1, 8](x, out)
"""
ENDED = (
    "thread 0 of block 0 reads element 4 of the shared array shared, which no thread of the block "
    "has written; 3 of its 8 threads had ended before"
)
NOT_A_LANE = "and that lane never calls it, or is not in the block: the value could be anything"
OUT_OF_THE_WARP = f"thread 0 gets the value of lane 16 from cuda.shfl_down_sync, {NOT_A_LANE}"
BARRIER = "cuda.syncthreads()"


def ends(
    meeting: str = BARRIER,
    test: str = "t >= x.size",
    *,
    kind: str = "uninitialised",
    message: str = ENDED,
    at: int = 13,
) -> Evidence:
    """A read of what a thread that has ended did not write."""
    frame = Frame(line=at, function="kernel", code="")
    source = RETURNS.format(test=test, meeting=meeting)
    failure = Failure(kind=kind, message=message, frames=(frame,))
    return refused(failure, source, SUM, "@cuda.jit", threads=True)


VECTOR = spec_of(lambda i: {"out": i["x"] * 1.0}, "x")


def returns(meeting: str = BARRIER, *, always: bool = False) -> Evidence:
    """An element that is wrong in a block of too few elements, or in any."""

    def kernel(inputs: Any) -> dict[str, Tensor]:
        out = inputs["x"].clone()
        if always or len(out) % 8:
            out[0] += 1
        return {"out": out}

    launch = LaunchRef("kernel", (1, 1, 1), (8, 1, 1))
    return evidence_of(
        VECTOR,
        kernel,
        (7,),
        source=RETURNS.format(test="t >= x.size", meeting=meeting),
        decorator="@cuda.jit",
        threads=True,
        traced=Traced(arrays=(), launches=(launch,), accesses=(), cut=1),
    )


THROWN = """@cuda.jit(device=True)
def helper(value, place):
    shared = cuda.shared.array(8, float32)
    shared[0] = value
    {stored}
    cuda.syncthreads()
    return shared[0]

@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    value = x[t]
    {line}
    out[t] = value

def run(x, out):
    kernel[1, 8](x, out)
"""


def thrown(line: str, stored: str = "pass", decorator: str = "@cuda.jit") -> Evidence:
    """A wrong vector, and a line whose result may go nowhere."""
    source = THROWN.format(line=line, stored=stored).replace("@cuda.jit", decorator)
    return evidence_of(
        VECTOR,
        lambda inputs: {"out": inputs["x"] ** 2 + 3},
        (7,),
        source=source,
        decorator=decorator,
        threads=decorator == "@cuda.jit",
    )


STRIDES = """@cuda.jit
def kernel(x, out, step):
    i = {begin}
    {loop}
        out[i] = x[i]
        {goes_on}

def run(x, out):
    kernel[BLOCKS, THREADS](x, out, BLOCKS * THREADS)
"""


def strides(
    step: str,
    *,
    begin: str = "cuda.grid(1)",
    end: str = "x.size",
    whiles: bool = False,
    read: str = "every element of x is read 1.83 times on average",
) -> Evidence:
    """A right result, of which several threads do the same elements."""
    more = f", {step}" if step else ""
    loop = f"while i < {end}:" if whiles else f"for i in range(i, {end}{more}):"
    goes_on = f"i += {step}" if whiles else "pass"
    source = STRIDES.format(begin=begin, loop=loop, goes_on=goes_on)
    failure = Failure(kind="traffic", message=read, hint="Read once.")
    return refused(failure, source, VECTOR, "@cuda.jit", threads=True)


def near_stride(*arguments: Any, **fields: Any) -> tuple[str, Any]:
    return "stride_of_one_block", partial(strides, *arguments, **fields)


EXPS = spec_of(lambda i: {"out": i["x"].exp().sum(-1)}, "x", shape=lambda i: i["x"].shape[:1])
MAXIMA = """@triton.jit
def kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    highest = {first}
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < columns, other=float("-inf"))
        {new} = tl.maximum(highest, {among})
        sums = sums * tl.exp(highest - new) + tl.exp(x - {new})
        highest = {new}
    tl.store(out_ptr, tl.sum(sums * tl.exp(highest), axis=0))
"""
LOWEST = 'tl.full((BLOCK,), float("-inf"), tl.float32)'


def maxima(
    first: str = LOWEST,
    new: str = "new",
    among: str = "x",
    *,
    wrong: float = torch.nan,
    step: int = 8,
) -> Evidence:
    """Sums that are NaN, or another wrong number, where a row does not fill blocks of `step`."""

    def kernel(inputs: Any) -> dict[str, Tensor]:
        out = inputs["x"].exp().sum(-1)
        return {"out": out if inputs["x"].shape[-1] % step == 0 else out + wrong}

    return evidence_of(
        EXPS,
        kernel,
        (3, 5),
        source=MAXIMA.format(first=first, new=new, among=among),
        uses=[use(7, "read", "x", torch.ones(3, 5), lanes=8, masked=True)],
    )


def near_maxima(**fields: Any) -> tuple[str, Any]:
    return "infinite_difference", partial(maxima, **fields)


TABLE = spec_of(lambda i: {"out": i["x"] * 1.0}, "x")
STRIDE = """@triton.jit
def kernel(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + i, mask=i < n)
    tl.store(out_ptr + row * stride + i, x, mask=i < n)

def run(x, out):
    kernel[(x.shape[0],)](x, out, x.stride(0), x.shape[1], BLOCK=8)
"""


def one_stride(kind: str, message: str, at: int = 0, beside: str = "") -> Evidence:
    """A table with gaps between rows; the kernel uses the stride of one argument for both."""

    def kernel(inputs: Any) -> dict[str, Tensor]:
        return {"out": inputs["x"] + torch.arange(3)[:, None]}

    right = partial(witness_of, TABLE, lambda inputs: {"out": inputs["x"]})
    evidence = evidence_of(
        TABLE,
        kernel,
        (3, 4),
        source=STRIDE,
        attempt=right,
        uses=[
            use(
                4 if beside == "x" else 5,
                "read" if beside == "x" else "write",
                beside,
                torch.ones(3, 4),
                beside=True,
            )
        ]
        if beside
        else [],
    )
    frames = (Frame(line=at, function="kernel", code=""),) if at else ()
    failure = Failure(kind=kind, message=message, frames=frames)
    main = evidence.main
    padded = replace(main, case=replace(main.case, pad=3))
    return replace(evidence, failure=failure, case=padded)


BIAS = spec_of(lambda i: {"out": i["x"] + i["bias"][0]}, "x", "bias")
TILE = """@triton.jit
def kernel(x_ptr, bias_ptr, out_ptr, rows, columns):
    row = tl.program_id(0) * 16 + tl.arange(0, 16)
    column = tl.program_id(1) * 32 + tl.arange(0, 32)
    offsets = row[:, None] * columns + column[None, :]
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    x = tl.load(x_ptr + offsets, mask=inside)
    bias = tl.load({address}, mask={mask})
    tl.store(out_ptr + offsets, {value}, mask=inside)
"""
ADDRESS = "bias_ptr + column"
NO_SHAPE = "the kernel cannot be compiled: Expected pointer argument to have shape [1, 16, 32]"


def shapes(
    mask: str,
    address: str = ADDRESS,
    value: str = "x + bias[None, :]",
    message: str = NO_SHAPE,
) -> Evidence:
    source = TILE.format(address=address, mask=mask, value=value)
    frame = Frame(line=9, function="kernel", code="")
    failure = Failure(kind="compile", message=message, frames=(frame,), hint="Compare the shapes.")
    return refused(failure, source, BIAS)


def bounds(mask: str, read: int = 1, address: str = ADDRESS) -> Evidence:
    """Elements of bias that are never read, from the given one on."""

    def kernel(inputs: Any) -> dict[str, Tensor]:
        return {"out": torch.where(torch.arange(3) < 1, inputs["x"] + inputs["bias"][0], torch.nan)}

    return evidence_of(
        BIAS,
        kernel,
        (2, 3),
        source=TILE.format(address=address, mask=mask, value="x + bias[None, :]"),
        uses=[
            use(7, "read", "x", torch.ones(2, 3), lanes=512, masked=True),
            use(8, "read", "bias", torch.arange(3).expand(2, 3) < read, lanes=32, masked=True),
            use(9, "write", "out", torch.ones(2, 3), lanes=512, masked=True),
        ],
        complete=True,
    )


def near_mask(*arguments: Any, **fields: Any) -> tuple[str, Any]:
    return "load_mask", partial(*arguments, **fields)


SOFTMAX = spec_of(lambda i: {"out": i["x"].softmax(-1)}, "x")
FROM_0 = """LOWEST = 0.0

@cuda.jit
def kernel(x, out):
    row = cuda.blockIdx.x
    total = float32(0.0)
    highest = {first}
    for column in range(x.shape[1]):
        highest = max(highest, x[row, column])
    for column in range(x.shape[1]):
        total += math.exp(x[row, column] - highest)
"""


def from_0(first: str) -> Evidence:
    """A maximum of threads that begins at 0: rows of elements below it are wrong."""

    def kernel(inputs: Any) -> dict[str, Tensor]:
        x = inputs["x"]
        low = (x < 0).all(1, keepdim=True)
        return {"out": torch.where(low, torch.nan, x.softmax(-1))}

    return evidence_of(
        SOFTMAX,
        kernel,
        (3, 1),
        (4, 9),
        given={"x": torch.tensor([[-5.0], [-1.0], [-2.0]])},
        source=FROM_0.format(first=first),
        decorator="@cuda.jit",
        threads=True,
    )


def near_return(*arguments: Any, **fields: Any) -> tuple[str, Any]:
    return "early_return", partial(*arguments, **fields)


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
        "a return before a barrier": ("early_return barrier_in_branch", ends, 12),
        "a return before the barrier of a function": (
            "early_return barrier_in_branch",
            partial(ends, "t = total_of(x[t])", at=13),
            12,
        ),
        "a return before a shuffle": (
            "early_return barrier_in_branch",
            partial(
                ends,
                "x = cuda.shfl_down_sync(ALL, x, 16)",
                kind="divergent_shuffle",
                message=OUT_OF_THE_WARP,
            ),
            12,
        ),
        "a return that only incomplete blocks reach": (
            "early_return barrier_in_branch",
            returns,
            12,
        ),
        "a shuffle in a line of its own": (
            "value_returned",
            partial(thrown, "cuda.shfl_down_sync(ALL, value, 16)"),
            13,
        ),
        "a function's result": ("value_returned", partial(thrown, "helper(value, x)"), 13),
        "a sum that is not kept": ("value_returned", partial(thrown, "value + x[0]"), 13),
        "== for =": ("value_returned", partial(thrown, "out[t] == value"), 13),
        "tl.where in a line of its own": (
            "value_returned",
            partial(thrown, "tl.where(t < 7, value, 0.0)", decorator="@triton.jit"),
            13,
        ),
        "a loop that goes on by a block": (
            "stride_of_one_block repeated_access",
            partial(strides, "cuda.blockDim.x"),
            4,
        ),
        "a loop that goes on through the parts of later blocks": (
            "stride_of_one_block repeated_access",
            partial(
                strides,
                "THREADS",
                begin="cuda.blockIdx.x * PART + cuda.threadIdx.x",
                whiles=True,
            ),
            6,
        ),
        "a loop from the place of a thread": (
            "stride_of_one_block repeated_access",
            partial(
                strides,
                "THREADS",
                begin="cuda.blockIdx.x * THREADS + cuda.threadIdx.x",
                whiles=True,
            ),
            6,
        ),
        "a loop that goes on by one element": (
            "stride_of_one_block repeated_access",
            partial(strides, ""),
            4,
        ),
        "a while that goes on by a block's threads": (
            "stride_of_one_block repeated_access",
            partial(strides, "THREADS", whiles=True),
            6,
        ),
        "-inf from -inf in lanes past the end": ("infinite_difference masked_lanes", maxima, 9),
        "-inf from -inf of one name": (
            "infinite_difference masked_lanes",
            partial(maxima, new="highest"),
            9,
        ),
        "out has another stride": (
            "row_stride",
            partial(
                one_stride,
                "stray_write",
                "the kernel wrote between the rows of out: 4 elements past the end of row 0",
                5,
            ),
            5,
        ),
        "x has another stride": (
            "row_stride",
            partial(
                one_stride,
                "out_of_bounds",
                "load reads 2 elements past the end of x (x spans 5 elements)",
                4,
            ),
            4,
        ),
        "x is read between its rows": (
            "row_stride",
            partial(one_stride, "value", "out[1, 0] is wrong", beside="x"),
            4,
        ),
        "a stride that nobody saw": (
            "row_stride",
            partial(one_stride, "value", "out[1, 0] is wrong"),
        ),
        "a mask of a tile for a row": ("load_mask mask_shape", partial(shapes, "inside"), 8),
        "a mask of a column for a row": (
            "load_mask mask_shape",
            partial(shapes, "row[:, None] < rows"),
            8,
        ),
        "a mask that compares columns with rows": (
            "load_mask never_read",
            partial(bounds, "column < rows"),
            8,
        ),
        "a thread's maximum that begins at 0": (
            "negative_inputs",
            partial(from_0, "float32(0.0)"),
            7,
        ),
        "a thread's maximum that begins at a constant": (
            "negative_inputs",
            partial(from_0, "float32(LOWEST)"),
            7,
        ),
    }
)
NEAR_HINTS = near(
    {
        "no barrier after any return": near_return(ends, "shared = x"),
        "threads that have not ended": near_return(ends, message=ENDED.partition(";")[0]),
        "a read in another kernel": near_return(ends, at=2),
        "whole blocks are wrong as well": near_return(returns, always=True),
        "a function that stores to what it gets": (
            "value_returned",
            partial(thrown, "helper(value, x)", "place[0] = value"),
        ),
        "an atomic maximum": ("value_returned", partial(thrown, "cuda.atomic.max(out, 0, value)")),
        "a barrier": ("value_returned", partial(thrown, "cuda.syncthreads()")),
        "a shuffle whose result is kept": (
            "value_returned",
            partial(thrown, "value += cuda.shfl_down_sync(ALL, value, 16)"),
        ),
        "a step of the whole grid": near_stride("cuda.blockDim.x * cuda.gridDim.x"),
        "a step that the launch gives": near_stride("step", whiles=True),
        "threads of each block alone": near_stride("cuda.blockDim.x", begin="cuda.threadIdx.x"),
        "a range of each block": near_stride("THREADS", end="(cuda.blockIdx.x + 1) * 64"),
        "one maximum for all lanes": near_maxima(among="tl.max(x, axis=0)"),
        "maxima that begin at a number": near_maxima(first="tl.full((BLOCK,), -1e38, tl.float32)"),
        "a sum that is no NaN": near_maxima(wrong=1.0),
        "rows of whole blocks that are NaN": near_maxima(step=7),
        "a mask of a tile for a tile": near_mask(shapes, "inside", "bias_ptr + column[None, :]"),
        "a mask of as many axes": near_mask(shapes, "row < rows"),
        "what is loaded is not used": near_mask(shapes, "inside", value="x"),
        "another error of the compiler": near_mask(shapes, "inside", message="no such name"),
        "masks of one bound": near_mask(bounds, "column < columns"),
        "another bound, and all is read": near_mask(bounds, "column < rows", read=3),
        "incomplete blocks, and no barrier": near_return(returns, "shared = x"),
    }
)
