"""Wrong outputs of plain functions, with a record of their accesses, and a file's text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from evidences import UNWRITTEN, evidence_of, refused, spec_of, use
from torch import Tensor

from cause_examples.example import Example, Make, near, shown
from grader.model import ArrayRef, Failure, LaunchRef, Mistake, Spec, Traced
from grader.model.traced import FROM_END

COPY = spec_of(lambda i: {"out": i["x"] * 1.0}, "x")
ADD = spec_of(lambda i: {"out": i["x"] + i["y"]}, "x", "y")
TOTAL = spec_of(lambda i: {"out": i["x"].sum(-1, keepdim=True)}, "x", shape=(1,))
BELOW = spec_of(lambda i: {"out": (-i["x"].abs()).amax(-1)}, "x", shape=lambda i: i["x"].shape[:1])
SOFTMAX = spec_of(lambda i: {"out": i["x"].softmax(-1)}, "x")
NUMBA = {"decorator": "@cuda.jit", "threads": True}


def made(
    spec: Spec, kernel: Callable[[Tensor], Tensor], *shapes: tuple[int, ...], **fields: object
) -> Make:
    return lambda: evidence_of(spec, lambda i: {"out": kernel(i["x"])}, *shapes, **fields)


# -- lanes past the end that other= fills, in blocks of 8

FILLED = """@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + i, mask=i < n, other={other})
    tl.store(out_ptr, f(x))

def run(x, out):
    {host}
"""
LANES = [use(3, "read", "x", torch.ones(1, 5), lanes=8, masked=True)]


def filled(x: Tensor, fill: float) -> Tensor:
    """Fill the last block of 8 of each row."""
    return torch.nn.functional.pad(x, (0, -x.shape[-1] % 8), value=fill)


def of_blocks(
    spec: Spec, kernel: Callable[[Tensor], Tensor], other: str = "0.0", host: str = "pass"
) -> Make:
    source = FILLED.format(other=other, host=host)
    return made(spec, kernel, (1, 5), (2, 19), source=source, uses=LANES)


# -- few bits

NARROW = """@triton.jit
def kernel(x_ptr, out_ptr):
    {line}
    tl.store(out_ptr, x)

def run(x, out):
    {host}
"""


def rounded(kernel: Callable[[Tensor], Tensor], line: str = "pass", host: str = "pass") -> Make:
    return made(COPY, kernel, (9,), (17,), source=NARROW.format(line=line, host=host))


# -- a tree of sums, of threads of one block

TREE = """@cuda.jit
def kernel(x, out):
    {before}
    while {test}:
        {first}
        {last}
    out[0] = s[0]
"""
ADD_HALF = "if t < h: s[t] += s[t + h]"


def tree(test: str, first: str = ADD_HALF, last: str = "h //= 2", before: str = "h = 8") -> Make:
    source = TREE.format(test=test, first=first, last=last, before=before)
    return made(TOTAL, lambda x: x[..., ::3].sum(-1, keepdim=True), (7,), source=source, **NUMBA)


# -- threads

BY_THREADS = """@cuda.jit
def kernel(x, out):
    {line}
    out[i] = x[i]

def run(x, out):
    kernel[blocks, 4](x, out)
"""


def traced(
    kernel: Callable[[Tensor], Tensor],
    *rows: tuple[int, int, int, int, int],
    blocks: int = 3,
    shape: tuple[int, ...] = (12,),
    threads: int = 4,
) -> Make:
    """Return a record of rows with block, thread, element, kind and fault; all arrays are out."""
    launch = LaunchRef("kernel", (blocks, 1, 1), (threads, 1, 1))
    accesses = tuple((0, 0, b, t, 0, e, kind, 4, fault) for b, t, e, kind, fault in rows)
    record = Traced((launch,), (ArrayRef("out", "argument", shape),), accesses)
    return made(
        COPY,
        kernel,
        shape,
        source=BY_THREADS.format(line="i = cuda.threadIdx.x"),
        traced=record,
        launches=(launch,),
        uses=[use(4, "write", "out", torch.ones(shape))],
        **NUMBA,
    )


def first_right(count: int) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.cat([x[:count], x[count:] * x[count:] + 2])


def wrong_at(place: int) -> Callable[[Tensor], Tensor]:
    return lambda x: torch.where(torch.arange(len(x)) == place, x * x + 2, x)


BEFORE_THE_START = (0, 3, 11, 0, FROM_END)

# -- inputs

CHANGED = """@triton.jit
def kernel(x_ptr, out_ptr):
    tl.store(x_ptr, tl.load(x_ptr) + 1)

def run(x, out):
    {host}
"""


def changed(host: str, *lines: int) -> Make:
    failure = Failure(kind="input_changed", message="the kernel changed its input x at element 0")
    evidence = refused(failure, CHANGED.format(host=host), COPY)
    uses = tuple(use(line, "write", "x", torch.ones(3)) for line in lines)
    uses += (use(3, "read", "x", torch.ones(3)), use(3, "write", "out", torch.ones(3)))
    return lambda: replace(evidence, uses=uses)


UNREAD = """@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n):
    tl.store(out_ptr, tl.load(x_ptr){more})

def run(x, y, out):
    kernel[(n,)](x, y, out, n)
"""


def unread(
    kernel: Callable[[Tensor, Tensor], Tensor], *uses: tuple[str, Tensor], more: str = ""
) -> Make:
    seen = [use(3, "read", name, marks) for name, marks in uses]
    seen.append(use(3, "write", "out", torch.ones(6)))
    return lambda: evidence_of(
        ADD,
        lambda i: {"out": kernel(i["x"], i["y"])},
        (6,),
        (9,),
        source=UNREAD.format(more=more),
        uses=seen,
        complete=True,
    )


ALL, ODD, FIRST_4 = torch.ones(6), torch.arange(6) % 2, torch.arange(6) < 4

# -- results that nobody gets

RETURNED = """@triton.jit
def kernel(x_ptr, out_ptr):
    {inside}

def run(x, out):
    {host}
"""


def returned(inside: str, host: str, *, stores: bool = False) -> Make:
    uses = [use(3, "write", "out", torch.zeros(4))] if stores else []
    return made(
        COPY,
        lambda x: torch.full_like(x, UNWRITTEN),
        (4,),
        source=RETURNED.format(inside=inside, host=host),
        uses=uses,
        launches=(LaunchRef("kernel", (1, 1, 1), (32, 1, 1)),),
    )


# -- listed mistakes


def listed(kernel: Callable[[Tensor], Tensor]) -> Make:
    cubed = Mistake(
        cause="formula", hint="x to the third", reference=lambda i: {"out": i["x"] ** 3}
    )
    large = Mistake(cause="overflow", hint="", only=lambda i: {"out": i["x"] > 0.5})
    spec = replace(COPY, mistakes=(cubed, large))
    return made(spec, kernel, (20,), (40,))


SHOWN: dict[str, tuple[str, Make] | tuple[str, Make, int]] = {
    "a sum of exponentials with zeros": ("filled_lanes masked_lanes", of_blocks(
        SOFTMAX, lambda x: filled(x, 0.0).softmax(-1)[:, : x.shape[1]]), 3),
    "a maximum below 0 with zeros": ("filled_lanes masked_lanes", of_blocks(
        BELOW, lambda x: filled(-x.abs(), 0.0).amax(-1)), 3),
    "float16 on the way": ("precision", rounded(
        lambda x: x.half().float(), "x = tl.load(x_ptr).to(tl.float16)"), 3),
    "bfloat16 on the way": ("precision", rounded(
        lambda x: x.bfloat16().float(), "x = tl.load(x_ptr).to(tl.bfloat16)"), 3),
    "sums in the dtype of a pointer": ("precision", rounded(
        lambda x: x.half().float(), "x = tl.zeros((8,), out_ptr.dtype.element_ty)"), 3),
    "a tree that ends at 1": ("tree_ends_early off_by_one", tree("h > 1"), 4),
    "a tree that ends at 2": ("tree_ends_early off_by_one", tree("h >= 2", last="h >>= 1"), 4),
    "places in the block": ("block_index", traced(first_right(4))),
    "places in the block, of columns": ("block_index", traced(
        lambda x: torch.cat([x[:, :4], x[:, 4:] ** 2 + 2], 1), shape=(2, 12))),
    "before the start": ("index_below_zero missing_mask", traced(
        wrong_at(3), BEFORE_THE_START, (0, 3, 3, 1, 0)), 4),
    "before the start, by another thread": ("index_below_zero missing_mask", traced(
        wrong_at(5), BEFORE_THE_START, (0, 3, 3, 1, 0), (0, 2, 3, 0, 0), (0, 2, 5, 1, 0)), 4),
    "a store to x": ("input_changed", changed("kernel[(1,)](x, out)", 3), 3),
    "x and out exchanged": (
        "input_changed swapped_arguments", changed("kernel[(1,)](out, x)", 3), 6),
    "every other element of x": ("never_read", unread(
        lambda x, y: torch.where(ODD.bool(), x + y, y * y) if len(x) == 6 else y, ("x", ODD),
        ("y", ALL), more=" + tl.load(y_ptr)"), 3),
    "a parameter that nobody uses": (
        "never_read", unread(lambda x, y: x * x + 3, ("x", ALL)), 3),
    "the entry returns a tensor": ("value_returned", returned("pass", "return x + 1"), 6),
    "the kernel returns": ("value_returned", returned("return x_ptr", "kernel[(1,)](x, out)"), 3),
    "another formula is listed": ("known_mistake formula", listed(lambda x: x**3)),
    "large elements are listed": ("known_mistake overflow", listed(lambda x: x.clamp(max=0.5))),
}  # fmt: skip
NEAR: dict[str, tuple[str, Make]] = {
    "whole blocks are wrong, too": ("filled_lanes", of_blocks(
        SOFTMAX, lambda x: filled(x, 0.0).softmax(-1)[:, : x.shape[1]] / 2)),
    "filled with -inf": ("filled_lanes", of_blocks(
        BELOW, lambda x: filled(-x.abs(), 0.0).amax(-1), other='float("-inf")')),
    "the last block is left out": ("filled_lanes", of_blocks(
        BELOW, lambda x: filled(-x.abs(), 0.0).amax(-1), host="kernel[(n // 8,)](x, out)")),
    "float16 in a comment": ("precision", rounded(
        lambda x: x.half().float(), "x = tl.load(x_ptr)  # no float16")),
    "a store in the dtype of a pointer": ("precision", rounded(
        lambda x: x.half().float(), "x = x.to(out_ptr.dtype.element_ty)")),
    "float16, and far off": ("precision", rounded(
        lambda x: x * 3, "x = tl.load(x_ptr).to(tl.float16)")),
    "float16 elsewhere": ("precision", made(
        COPY, lambda x: x.half().float(), (9,), (17,),
        source="SCALE = torch.float16\n" + NARROW.format(line="pass", host="pass"))),
    "a tree that ends at 0": ("tree_ends_early", tree("h > 0")),
    "a tree that halves first": (
        "tree_ends_early", tree("h > 1", "h //= 2", ADD_HALF, "h = 16")),
    "a tree that adds half of its number": (
        "tree_ends_early", tree("h > 1", "if t < h // 2: s[t] += s[t + h // 2]", before="h = 16")),
    "a loop that counts down": ("tree_ends_early", tree("h > 1", last="h -= 1")),
    "a block and one more": ("block_index", traced(first_right(5))),
    "one block": ("block_index", traced(first_right(4), blocks=1)),
    "every other block": ("block_index", traced(
        lambda x: torch.where(torch.arange(12) // 4 % 2 == 0, x, x * x + 2))),
    "before the start, by a thread that wrote right": ("index_below_zero", traced(
        wrong_at(5), BEFORE_THE_START, (0, 3, 3, 1, 0), (0, 2, 5, 1, 0))),
    "before the start, after the wrong store": ("index_below_zero", traced(
        wrong_at(3), (0, 3, 3, 1, 0), BEFORE_THE_START)),
    "torch changes x": ("input_changed", changed("x.add_(1); kernel[(1,)](x, out)")),
    "who changes x is not known": ("input_changed", changed("kernel[(1,)](x, out)")),
    "unread elements, and others are wrong": ("never_read", unread(
        lambda x, y: torch.where(FIRST_4, x * y, x + y) if len(x) == 6 else x,
        ("x", FIRST_4), ("y", ALL), more=" + tl.load(y_ptr)")),
    "all is read": ("never_read", unread(
        lambda x, y: x * y, ("x", ALL), ("y", ALL), more=" + tl.load(y_ptr)")),
    "a parameter of which there is no record": (
        "never_read", unread(lambda x, y: x * y, ("x", ALL), more=" + tl.load(y_ptr)")),
    "the entry returns, and a kernel stores": (
        "value_returned", returned("pass", "return x + 1", stores=True)),
    "the entry returns nothing": ("value_returned", returned("return", "return None")),
    "a formula that is not listed": ("known_mistake", listed(lambda x: x**2 + 1)),
    "listed elements, and others": ("known_mistake", listed(lambda x: x.clamp(max=0.2))),
}  # fmt: skip
EXAMPLES: dict[str, Example] = shown(SHOWN) | near(NEAR)
