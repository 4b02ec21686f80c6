"""Races, accesses out of bounds and lines that a compiler refuses, with the text around them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from evidences import refused, spec_of

from cause_examples.example import Example, Make, near, shown
from grader.model import Failure, Frame

VECTOR = spec_of(lambda i: {"out": i["x"] * 1.0}, "x")
TABLE = replace(VECTOR, largest=(9, 9))
FILE = """{decorator}
def kernel(x, out, n):
    {first}
    {second}
    {third}

def run(x, out):
    {launch}
"""
THIRD = 5  # the number of that line


def failed(
    kind: str,
    message: str,
    *lines: str,
    at: int = THIRD,
    threads: bool = True,
    table: bool = False,
    launch: str = "kernel[blocks, 8](x, out, 3)",
    **more: str,
) -> Make:
    decorator = "@cuda.jit" if threads else "@triton.jit"
    first, second, third = (*lines, "pass", "pass", "pass")[:3]
    text = FILE.format(decorator=decorator, first=first, second=second, third=third, launch=launch)
    frame = Frame(line=at, function="kernel", code="")
    failure = Failure(kind=kind, message=message, frames=(frame,), hint="Look there.", **more)
    spec = TABLE if table else VECTOR
    return lambda: refused(failure, text, spec, decorator, threads=threads)


def met(verb: str, done: str, line: int, array: str = "out") -> str:
    """Return the sentence of numba's simulator about two threads."""
    return (
        f"thread 1 of block 0 {verb} element 3 of {array}, which thread 0 of block 0 {done} in "
        f"line {line} (x): with no barrier between the two, it is left to chance which comes first"
    )


def programs(verb: str, done: str, line: int) -> str:
    """Return the sentence of Triton's about two programs."""
    return (
        f"program 1 {verb} element 3 of out, which program 0 {done} in line {line} (x): programs "
        "run in any order, so it is left to chance which comes first"
    )


raced = partial(failed, "race")


LOADED = ("p = out + n", "old = tl.load(p)", "tl.store(p, old + x)")
TWICE = programs("writes another value to", "wrote", THIRD)
STORED = ("i = tl.program_id(0)", "y = tl.load(x + i)", "tl.store(out + i, y)")
BY_STRIDE = "kernel[(2,)](x, out, out.stride(0))"
CHAINED = "inside = i < n & j < m"
WORDS = "the kernel cannot be compiled: "
TYPES = (
    f"{WORDS}Loop-carried variable s has initial type fp32 but is re-assigned to fp32[8] in loop! "
    "Please make sure that the type stays consistent."
)
REDUCED = TYPES.replace("fp32 but", "fp32[8] but").replace("fp32[8] in", "fp32 in")
SHAPE = f"{WORDS}Loop carried variable s changed type, was <class 'int'> but is now <class 'float'>"
BEYOND = "thread 8 of block 0 uses index 8 of x, which has 8 elements"

SHOWN: dict[str, tuple[str, Make] | tuple[str, Make, int]] = {
    "counts of an array": (
        "not_atomic", raced(met("reads", "wrote", THIRD), "", "", "out[x[0]] += 1"), 5),
    "a sum of all blocks": (
        "not_atomic", raced(met("reads", "wrote", THIRD), "", "", "out[0] = out[0] + x[3]"), 5),
    "a sum of programs": (
        "not_atomic", raced(programs("reads", "wrote", THIRD), *LOADED, at=4, threads=False), 5),
    "a sum in one line": ("not_atomic", raced(
        programs("reads", "wrote", THIRD), "", "", "tl.store(out, tl.load(out) + n)",
        threads=False), 5),
    "rows without a stride": ("overlapping_programs row_stride", raced(
        TWICE, *STORED, threads=False, table=True, launch="kernel[(2,)](x, out, 3)"), 5),
    "rows whose stride is not used": ("overlapping_programs row_stride", raced(
        TWICE, *STORED, threads=False, table=True, launch=BY_STRIDE), 5),
    "two programs of a vector": (
        "overlapping_programs written_twice", raced(TWICE, *STORED, threads=False), 5),
    "two programs of a table with strides": ("overlapping_programs written_twice", raced(
        TWICE, *STORED[:2], "tl.store(out + i * n, y)", threads=False, table=True,
        launch=BY_STRIDE), 5),
    "a chain of a mask": ("operator_precedence", failed(
        "compile", f"{WORDS}simultaneous multiple comparison is not supported",
        "", "", CHAINED, threads=False), 5),
    "a chain of a guard": ("operator_precedence", failed(
        "out_of_bounds", BEYOND, "", "if i < n | j < m:", "    out[i] = x[i]"), 4),
    "a number becomes a vector": ("loop_changes_type", failed(
        "compile", TYPES, "s = 0.0", "for i in range(n):", "    s += x", at=4, threads=False), 3),
    "a vector becomes a number": ("loop_changes_type", failed(
        "compile", REDUCED, "s = x", "for i in range(n):", "    s = tl.max(x, axis=0)", at=4,
        threads=False), 5),
    "a whole number becomes a fraction": ("loop_changes_type", failed(
        "compile", SHAPE, "s = 0", "for i in range(n):", "    s = x + 1", at=4, threads=False), 3),
    "no guard": ("missing_mask", failed("out_of_bounds", BEYOND, "", "", "out[t] = x[t]"), 5),
    "a guard that lets the length through": ("missing_mask inclusive_bound", failed(
        "out_of_bounds", BEYOND, "", "if t <= n:", "    out[t] = x[t]"), 4),
    "threads before blocks": ("launch_swapped", failed(
        "out_of_bounds", BEYOND, launch="kernel[threads, blocks](x, out, 3)"), 8),
    "threads before a number": ("launch_swapped", failed(
        "launch_refused", "more than 1,024 threads",
        launch="kernel[threads_per_block, n](x, out, 3)"), 8),
}  # fmt: skip
NEAR: dict[str, tuple[str, Make]] = {
    "a tree without a barrier": ("not_atomic", raced(
        met("reads", "wrote", THIRD, "s"), "", "", "s[t] += s[t + half]")),
    "two lines": ("not_atomic", raced(
        met("reads", "wrote", 4), "", "out[t] = x[t]", "out[0] += 1")),
    "another place is read": ("not_atomic", raced(
        programs("reads", "wrote", THIRD), "p = out + n", "old = tl.load(p + 1)",
        "tl.store(p, old + x)", at=4, threads=False)),
    "what is read is not stored": ("not_atomic", raced(
        programs("reads", "wrote", THIRD), "p = out + n", "old = tl.load(p)",
        "tl.store(p, x)", at=4, threads=False)),
    "a read and a write": ("overlapping_programs", raced(
        programs("reads", "wrote", THIRD), *STORED, threads=False)),
    "one program stores two values": ("overlapping_programs", raced(
        "program 1 writes two different values to element 3 of out at once: it is left to chance "
        "which of them stays", *STORED, threads=False)),
    "parentheses": ("operator_precedence", failed(
        "compile", f"{WORDS}j is not defined", "", "", "k = (i < n) & (j < m)", threads=False)),
    "a chain without a sign": ("operator_precedence", failed(
        "compile", f"{WORDS}simultaneous multiple comparison is not supported",
        "", "", "inside = 0 <= i < n", threads=False)),
    "bits are compared": ("operator_precedence", failed(
        "out_of_bounds", BEYOND, "", "if n > x & 1:", "    out[i] = x[i]")),
    "a chain on another line": ("operator_precedence", failed(
        "compile", f"{WORDS}y is not defined", "", CHAINED, "z = y", threads=False)),
    "shapes that do not fit": ("loop_changes_type", failed(
        "compile", f"{WORDS}incompatible dimensions", "s = 0.0", "for i in range(n):", "    s += x",
        at=4, threads=False)),
    "a type that a branch changes": ("loop_changes_type", failed(
        "compile", f"{WORDS}initial value for `s` is of type fp32, but the then block redefines it",
        "s = 0.0", "if n:", "    s = x", at=4, threads=False)),
    "a cause that is known": ("missing_mask", failed(
        "out_of_bounds", BEYOND, "", "", "out[t] = x[t]", cause="offset_overflow")),
    "an element that nobody wrote": ("missing_mask", failed(
        "uninitialised", "thread 0 reads element 3 of the shared array s, which no thread wrote")),
    "blocks before threads": ("launch_swapped", failed(
        "out_of_bounds", BEYOND, launch="kernel[blocks, threads](x, out, 3)")),
    "blocks that are computed from threads": ("launch_swapped", failed(
        "out_of_bounds", BEYOND, launch="kernel[(n + threads - 1) // threads, 64](x, out, 3)")),
    "a size of a block": ("launch_swapped", failed(
        "out_of_bounds", BEYOND, launch="kernel[rows, BLOCK](x, out, 3)")),
    "a grid of blocks and a block": ("launch_swapped", failed(
        "out_of_bounds", BEYOND, launch="kernel[grid, block](x, out, 3)")),
}  # fmt: skip
EXAMPLES: dict[str, Example] = shown(SHOWN) | near(NEAR)
