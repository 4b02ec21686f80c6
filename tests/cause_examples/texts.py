"""Causes that the text of a kernel file shows, and texts that nearly do."""

from __future__ import annotations

import torch
from evidences import UNWRITTEN, evidence_of, refused, spec_of, use

from cause_examples.example import Example
from grader.correctness.evidence import Evidence
from grader.model import Failure, Frame, LaunchRef

SPEC = spec_of(lambda i: {"out": i["x"] * 1.0}, "x")
NUMBA = "@cuda.jit"

TRITON = """import math
import torch
import numpy as np
import triton
import triton.language as tl

FACTOR = 2

def helper(x):
    return x

@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    {line}
    tl.store(out_ptr + i, x, mask=i < n)

def run(x, out):
    {launch}
"""
LINE, LAUNCHED = 16, 20


PROGRAMS = """
def programs(n):
    {line}

def pair(n):
    return n, n
"""
NO_NUMBER = "TypeError: 'tuple' object cannot be interpreted as an integer"
NO_TUPLE = "TypeError: object of type 'int' has no len()"


CALLER = """
@triton.jit
def caller(x_ptr, out_ptr):
    tl.store(out_ptr, kernel(x_ptr, out_ptr, 3, 8))
"""


def compiled(
    line: str = "pass", message: str = "it is refused", launch: str = "pass", more: str = ""
) -> Evidence:
    at = LINE if launch == "pass" else LAUNCHED
    kind = "compile" if launch == "pass" else "exception"
    frame = Frame(line=at, function="kernel", code="")
    failure = Failure(kind=kind, message=message, frames=(frame,))
    return refused(failure, TRITON.format(line=line, launch=launch) + more, SPEC)


def gridded(line: str, message: str, launch: str = "kernel[programs(3)](x, out, 3, 8)") -> Evidence:
    """Return the evidence of a launch whose grid a function of the file makes."""
    return compiled(message=message, launch=launch, more=PROGRAMS.format(line=line))


REFUSED = {
    "numpy": ("host_library", compiled("x = np.exp(x)")),
    "torch": ("host_library", compiled("x = torch.nn.functional.silu(x)")),
    "math": ("python_math", compiled("x = math.exp(x)")),
    "math of a sum": ("python_math", compiled("x = 1 + math.sqrt(x)")),
    "a list": ("python_list", compiled("x = [0.0] * 8")),
    "a comprehension": ("python_list", compiled("x = [x for j in range(3)]")),
    "a pointer's element": ("pointer_indexed", compiled("x = x_ptr[i]")),
    "a pointer's slice": ("pointer_indexed", compiled("x = x_ptr[0:8]")),
    "an assignment": ("pointer_assigned", compiled("out_ptr[i] = x")),
    "an augmented one": ("pointer_assigned", compiled("out_ptr[i] += x")),
    "a result": ("value_returned", compiled("return x")),
    "another result": ("value_returned", compiled("return x + 1")),
    "a helper": ("host_function", compiled("x = helper(x)")),
    "a helper's value": ("host_function", compiled("x = x + helper(x)")),
    "BLOCK": ("missing_constexpr", compiled(
        "j = tl.arange(0, BLOCK)", "arange's arguments must be of type tl.constexpr")),
    "half a BLOCK": ("missing_constexpr", compiled(
        "j = tl.arange(0, BLOCK // 2)", "arange's arguments must be of type tl.constexpr")),
    "a length": ("arange_not_constant", compiled(
        "j = tl.arange(0, n)", "arange's arguments must be of type tl.constexpr")),
    "zeros of a length": ("arange_not_constant", compiled(
        "y = tl.zeros((n,), tl.float32)", "Shape element 0 must have type `constexpr[int]`")),
    "no brackets": ("no_grid", compiled(launch="kernel(x, out, 3, 8)")),
    "a tuple in a tuple": ("grid_not_tuple", gridded(
        "return (n,)", NO_NUMBER, "kernel[(programs(3),)](x, out, 3, 8)")),
    "a number for a grid": ("grid_not_tuple", gridded("return n", NO_TUPLE)),
    "nothing for a grid": ("grid_not_tuple", gridded("n + 1", "AssertionError")),
    "parentheses for brackets": ("no_grid", compiled(launch="kernel((1,))(x, out, 3, 8)")),
}  # fmt: skip
ACCEPTED = {
    "tl": compiled("x = tl.exp(x)"),
    "math of the host": compiled(launch="kernel[(math.ceil(3),)](x, out, 3, 8)"),
    "an index of a block": compiled("x = x[i]"),
    "a block that has a pointer's name": compiled(
        "x_ptr[i] = 0", "a block cannot be assigned to by index"
    ),
    "a grid of another mistake": gridded("return (n,)", "TypeError: missing an argument"),
    "a pair of two functions": gridded(
        "return n", NO_NUMBER, "kernel[programs(3), pair(3)](x, out, 3, 8)"
    ),
    "a tuple": compiled("a = (x, x)"),
    "a return alone": compiled("return"),
    "a value for the kernel that calls": compiled("return x_and_y", more=CALLER),
    "a return of nothing in a branch": compiled("if n > 3: return"),
    "a shape that does not fit": compiled("x = x + tl.arange(0, 8)", "incompatible dimensions"),
    "a launch": compiled(launch="kernel[(1,)](x, out, 3, 8)"),
}


GRID = """@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    {offsets}
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)

def run(x, out):
    n = x.numel()
    {grid}
    kernel[grid](x, out, n, BLOCK=8)
"""
OWN = "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)"
ENOUGH = "grid = ((n + 8 - 1) // 8,)"


HELPER = """
@triton.jit
def place_of(number, across):
    return number // across, number % across
"""


def unwritten(
    first: int, length: int, offsets: str, grid: str, programs: int, more: str = ""
) -> Evidence:
    """The elements from `first` on are never written, by so many programs of 8 lanes."""

    def kernel(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        out = inputs["x"].clone()
        out[first:] = UNWRITTEN
        return {"out": out}

    marks = torch.arange(length) < first
    return evidence_of(
        SPEC,
        kernel,  # type: ignore[arg-type]
        (length,),
        source=GRID.format(offsets=offsets, grid=grid) + more,
        uses=[use(4, "read", "x", marks, lanes=8), use(4, "write", "out", marks, lanes=8)],
        grid=(programs, 1, 1),
    )


LEFT_OUT = {
    "rounded down": ("tail", 8, unwritten(8, 13, OWN, "grid = (n // 8,)", 1)),
    "rounded down by int": ("tail", 8, unwritten(16, 20, OWN, "grid = (int(n / 8),)", 2)),
    "one program": ("first_block_only", 8, unwritten(8, 13, OWN, "grid = (1,)", 1)),
    "one program, many are needed": (
        "first_block_only", 8, unwritten(8, 100, OWN, "grid = (1,)", 1)),
    "two programs": ("grid_too_small", 8, unwritten(16, 40, OWN, "grid = (2,)", 2)),
    "five programs": ("grid_too_small", 8, unwritten(40, 41, OWN, "grid = (5,)", 5)),
    "no number of a program": (
        "program_id_unused", 3, unwritten(8, 13, "i = tl.arange(0, BLOCK)", ENOUGH, 2)),
    "a ticket for a number": ("grid_too_small", 9, unwritten(
        16, 40, "p = tl.atomic_add(x, 1)\n    i = p * BLOCK + tl.arange(0, BLOCK)",
        "grid = (2,)", 2)),
    "a number that nobody uses": ("program_id_unused", 4, unwritten(
        8, 20, "p = tl.program_id(0)\n    i = tl.arange(0, BLOCK)", ENOUGH, 3)),
    "a number that is added": ("block_index", 3, unwritten(
        9, 16, "i = tl.program_id(0) + tl.arange(0, BLOCK)", ENOUGH, 2)),
    "a number of many": ("block_index", 3, unwritten(
        11, 30, "i = tl.program_id(0) + tl.arange(0, BLOCK)", ENOUGH, 4)),
}  # fmt: skip


GAPS = {
    "rounded up by a sum": unwritten(8, 13, OWN, ENOUGH, 2),
    "rounded up by a minus": unwritten(8, 13, OWN, "grid = (-(-n // 8),)", 2),
    "rounded up by cdiv": unwritten(
        8, 13, OWN, "half = 16 // 2; grid = (triton.cdiv(n, half),)", 2
    ),
    "a place that a kernel's helper returns": unwritten(8, 13, OWN, ENOUGH, 2, HELPER),
    "half a block further on": unwritten(
        5, 13, "i = tl.program_id(0) * 4 + tl.arange(0, BLOCK)", ENOUGH, 2
    ),
}


LAUNCH = """@triton.jit
def kernel({parameters}):
    tl.store(out_ptr, tl.load(x_ptr))

def run(x, y, out):
    {launch}
"""


def launched(parameters: str, launch: str, launches: int = 1) -> Evidence:
    return evidence_of(
        spec_of(lambda i: {"out": i["x"] * 1.0}, "x", "y"),
        lambda i: {"out": i["x"] ** 2 + 7},
        (4,),
        source=LAUNCH.format(parameters=parameters, launch=launch),
        launches=(LaunchRef("kernel", (1, 1, 1), (32, 1, 1)),) * launches,
    )


THREE = "x_ptr, y_ptr, out_ptr"


SWAPPED = {
    "x and y": launched(THREE, "kernel[(1,)](y, x, out)"),
    "two lengths": launched(
        "x_ptr, out_ptr, x_s, out_s", "kernel[1,](x, out, out.size(), x.size())"
    ),
}
IN_ORDER = {
    "in order": launched(THREE, "kernel[(1,)](x, y, out)"),
    "names that say nothing": launched("a, b, c", "kernel[(1,)](y, x, out)"),
    "one argument twice": launched(THREE, "kernel[(1,)](x, x, out)"),
}
IDLE = {
    "torch on the host": launched(THREE, "x.add(y, out=out)", 0),
    "brackets alone": launched(THREE, "kernel[(1,)]"),
    "an empty grid": launched(THREE, "kernel[(triton.cdiv(n, 1024) - 1,)](x, y, out, n)", 0),
}
STARTED = {
    "started": launched(THREE, "kernel[(1,)](x, y, out)"),
    "started by another name": launched(THREE, "go = kernel[(1,)]; go(x, y, out)"),
}


def _known(detector: str, evidence: Evidence, word: str = "", line: int | None = None) -> Example:
    return Example(detector, lambda: evidence, word, line)


EXAMPLES: dict[str, Example] = {
    **{
        name: _known("misused_language", evidence, word, evidence.failure.frames[-1].line)
        for name, (word, evidence) in REFUSED.items()
    },
    **{name: _known("misused_language", evidence) for name, evidence in ACCEPTED.items()},
    **{
        name: _known("never_written", evidence, word, line)
        for name, (word, line, evidence) in LEFT_OUT.items()
    },
    **{name: _known("never_written", evidence) for name, evidence in GAPS.items()},
    **{
        name: _known("swapped_in_launch", evidence, "swapped_arguments", 6)
        for name, evidence in SWAPPED.items()
    },
    **{name: _known("swapped_in_launch", evidence) for name, evidence in IN_ORDER.items()},
    **{name: _known("no_launch", evidence, "no_launch", 6) for name, evidence in IDLE.items()},
    **{name: _known("no_launch", evidence) for name, evidence in STARTED.items()},
}
