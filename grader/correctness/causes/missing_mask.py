"""Accesses that lead out of an array, and why the index may do so."""

from __future__ import annotations

import ast
import re

from grader.correctness.addresses import ALIKE, arguments_of, grid_of, loads_alike
from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import (
    Source,
    assigned,
    calls,
    mentions,
    names_in,
    root_of,
    statement_at,
)
from grader.correctness.swaps import exchanged

ONE_TOO_FAR = re.compile(
    r"\b1 element past the end|one past the last|uses index (\d+) of \w+, which has \1 element"
)
EXCHANGED = "would be inside with its two indices exchanged"


def explain(evidence: Evidence) -> Explanation | None:
    failure = evidence.failure
    if failure.kind == "uninitialised":
        return _from_end(evidence)
    if failure.cause is not None:
        return None
    line = failure.frames[-1].line if failure.frames else 0
    if "shared array" in failure.message:
        return _of_shared(evidence, line)
    if EXCHANGED in failure.message:
        return Explanation(failure.hint or "", line, "transposed")
    if "1 element before the start" in failure.message and "- 1" in evidence.text.text(line):
        return Explanation(
            f"{evidence.quoted(line)} goes one place too far back: is its index off by one?",
            line,
            "off_by_one",
        )
    if ONE_TOO_FAR.search(failure.message) and (lanes := _lanes_from_one(evidence, line)):
        return Explanation(
            f"{evidence.quoted(lanes)} counts from 1, and places from 0: tl.arange(0, n) gives "
            "0, 1, ..., n - 1.",
            lanes,
            "off_by_one",
        )
    if ONE_TOO_FAR.search(failure.message) and (grid := _one_program_more(evidence)):
        return Explanation(
            f"{evidence.quoted(grid)} starts one program more than there are elements, or rows: "
            "the last one's number is beyond them.",
            grid,
            "off_by_one",
        )
    found = _of_launch(evidence) or _inclusive(evidence, line) or _of_fixed_size(evidence, line)
    return found or _without_mask(evidence, line)


def _lanes_from_one(evidence: Evidence, line: int) -> int:
    """Return the line of lanes that count from 1, of a kernel that has no others, or 0."""
    kernel = evidence.text.around(line)
    lanes = [] if kernel is None else calls(kernel, "arange")
    late = [
        call
        for call in lanes
        if call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == 1
    ]
    return late[0].lineno if late and len(late) == len(lanes) else 0


def _one_program_more(evidence: Evidence) -> int:
    """Return the line of a grid that is a length plus 1, or 0: `n // BLOCK + 1` is none."""
    for kernel in () if evidence.threads else evidence.text.kernels:
        for launch, host, _ in arguments_of(evidence.text, kernel):
            for number in grid_of(evidence.text, launch, host):
                if (
                    isinstance(number, ast.BinOp)
                    and isinstance(number.op, ast.Add)
                    and isinstance(number.right, ast.Constant)
                    and number.right.value == 1
                    and not isinstance(number.left, ast.BinOp)
                ):
                    return number.lineno
    return 0


def _of_fixed_size(evidence: Evidence, line: int) -> Explanation | None:
    """Explain an index that a literal number limits: in the kernel's `if`, or in the launch."""
    function = evidence.text.around(line)
    if function is None:  # a GPU names no line: what it was is not known
        return None
    compared = [node for node in ast.walk(function) if isinstance(node, ast.Compare)]
    places = [node.lineno for node in compared if _is_number(node.comparators[-1])]
    lengths = ("size", "shape", "len")
    if not places and not any(mentions(node, *lengths) for node in compared):
        places = [
            launch.lineno
            for launch in evidence.text.launches
            if isinstance(launch.func, ast.Subscript)
            and isinstance(launch.func.slice, ast.Tuple)
            and all(isinstance(each, ast.Constant) for each in launch.func.slice.elts)
        ]
    if not places:
        return None
    return Explanation(
        f"{evidence.quoted(places[0])} has a fixed number, whatever the length of the arrays is: "
        "take it from them, as a.size or a.shape does.",
        places[0],
        "grid_too_small",
    )


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1


def _from_end(evidence: Evidence) -> Explanation | None:
    """Explain an element that nobody wrote, because an index below 0 counts from the end."""
    line = evidence.failure.frames[-1].line if evidence.failure.frames else 0
    if "counts from the end" not in evidence.failure.message:
        return _without_the_guard(evidence, line)
    return Explanation(
        f"{evidence.quoted(line)} uses an index below 0, which counts from the end. Is an `if` "
        "missing there?",
        line,
    )


def _without_the_guard(evidence: Evidence, line: int) -> Explanation | None:
    """Explain shared memory that a line stores from without the `if` of those that fill it."""
    kernel = evidence.text.around(line)
    statement = None if kernel is None else statement_at(kernel, line)
    if kernel is None or not isinstance(statement, ast.Assign) or _guards(kernel, line):
        return None
    shared = _shared_arrays(kernel)
    stores = isinstance(statement.targets[0], ast.Subscript)
    read = names_in(statement.value) & shared
    if not stores or len(read) != 1 or names_in(statement.targets[0]) & shared:
        return None
    fills = [
        node.lineno
        for node in ast.walk(kernel)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Subscript)
        and root_of(node.targets[0]) in read
    ]
    guards = [_guards(kernel, each) for each in fills]
    if not fills or not all(guards):
        return None
    return Explanation(
        f"{evidence.quoted(line)} stores without an `if`, and line {guards[0][0]} "
        f"({evidence.text.text(guards[0][0])}) fills {read.pop()} only for places that exist: does "
        "the store need one, too?",
        line,
    )


def _guards(kernel: ast.FunctionDef, line: int) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(kernel)
        if isinstance(node, ast.If)
        and node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)
        and mentions(node.test, "size", "shape", "len")
    ]


def _of_shared(evidence: Evidence, line: int) -> Explanation:
    if _uses_place_in_grid(evidence.text, line):
        return Explanation(
            f"{evidence.quoted(line)} counts places in shared memory through the whole grid: each "
            "block has a shared array of its own, whose places begin at 0. Use the thread's number "
            "in its block.",
            line,
            "shared_index_global",
        )
    return Explanation(evidence.failure.hint or "", line, "shared_overrun")


def _uses_place_in_grid(source: Source, line: int) -> bool:
    function = source.around(line)
    statement = None if function is None else statement_at(function, line)
    if function is None or statement is None:
        return False
    shared = _shared_arrays(function)
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript) and names_in(node.value) & shared:
            index = [node.slice, *_meanings(function, node.slice)]
            if any(mentions(each, "grid", "blockIdx") for each in index):
                return True
    return False


def _shared_arrays(function: ast.FunctionDef) -> set[str]:
    return {
        name
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and "shared.array" in ast.unparse(node.value)
        for name in names_in(node.targets[0])
    }


def _meanings(function: ast.FunctionDef, index: ast.expr) -> list[ast.AST]:
    return [each for name in names_in(index) for each in assigned(function, name)]


def _of_launch(evidence: Evidence) -> Explanation | None:
    swap = exchanged(evidence.text)
    if swap is None:
        return None
    one, other, line = swap
    return Explanation(
        f"Line {line} hands over {one} where the kernel's parameters have {other}, and {other} "
        f"where they have {one}: are the two exchanged?",
        line,
        "swapped_arguments",
    )


def _inclusive(evidence: Evidence, line: int) -> Explanation | None:
    """Explain one element too many by a comparison that lets the length itself through."""
    function = evidence.text.around(line)
    if function is None or not ONE_TOO_FAR.search(evidence.failure.message):
        return None
    found = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Compare) and _lets_length_through(node, function)
    ]
    if len({ast.unparse(node) for node in found}) != 1:
        return None
    place = min((node.lineno for node in found), key=lambda each: abs(each - line))
    return Explanation(
        f"{evidence.quoted(place)} lets the length itself through, and the last of n elements has "
        "the number n - 1: write < for <=, or >= for >.",
        place,
        "inclusive_bound",
    )


def _lets_length_through(comparison: ast.Compare, function: ast.FunctionDef) -> bool:
    [operator, *more] = comparison.ops
    bound = comparison.comparators[-1]
    parameters = names_in(function.args) | {a.arg for a in function.args.args}
    if isinstance(bound, ast.Constant | ast.BinOp) or (
        isinstance(bound, ast.Name) and bound.id not in parameters
    ):
        return False
    if more:
        return isinstance(more[-1], ast.LtE)
    if isinstance(operator, ast.LtE):
        return True
    # `if i > n: return` keeps the thread whose number is n.
    return isinstance(operator, ast.Gt) and any(
        isinstance(node, ast.If)
        and node.test is comparison
        and isinstance(node.body[-1], ast.Return)
        for node in ast.walk(function)
    )


def _without_mask(evidence: Evidence, line: int) -> Explanation | None:
    if "is the address right" in evidence.failure.message:
        return None
    said = [evidence.failure.hint or ""]
    if "mask off" in said[0] and len(evidence.spec.largest) > 1:
        said.append("In a table, mask by row and column.")
    if not evidence.threads and loads_alike(evidence.text.around(line), line):
        said.insert(0, f"{evidence.quoted(line)} {ALIKE}")
    return Explanation(" ".join(said), line)


CAUSE = Cause(
    name="missing_mask",
    looks_at="the message about an access out of bounds, and the comparisons of the kernel",
    order=90,
    kinds=("out_of_bounds", "stray_write", "uninitialised"),
    explain=explain,
)
