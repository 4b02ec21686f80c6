"""An index out of bounds, under a check or in a loop that limits another index, or too early."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.correctness.accesses import parameters_of
from grader.correctness.addresses import text_of
from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, last_name, names_in, root_of
from grader.correctness.swaps import exchanged

Head = ast.If | ast.For | ast.While
ORDINALS = ("first", "second", "third")
USED = re.compile(
    r"^thread .* of block .* uses (?:index -?\d+|-?\d+ as the (?P<axis>first|second|third) index) "
    r"of (?P<name>\w+), "
)


@dataclass(frozen=True)
class Limit:
    """A check, or the head of a loop, that keeps an index below a length."""

    index: ast.expr
    length: ast.expr
    head: Head


@dataclass(frozen=True)
class Used:
    """The index that the failing line uses, along one axis of an array of several or one."""

    line: int
    array: str
    axis: int
    axes: int
    index: ast.expr

    @property
    def what(self) -> str:
        number = f"the {ORDINALS[self.axis]}" if self.axes > 1 else "an"
        return f"line {self.line} uses it as {number} index of {self.array}"


def explain(evidence: Evidence) -> Explanation | None:
    """Explain an access of a thread, if its line uses the array by one index alone."""
    failure = evidence.failure
    found = USED.match(failure.message)
    line = failure.frames[-1].line if failure.frames else 0
    kernel = evidence.text.around(line)
    if not evidence.threads or found is None or kernel is None or exchanged(evidence.text):
        return None
    used = _used(evidence, kernel, line, found)
    if used is None or "indices exchanged" in failure.message:
        return None
    limits = list(_limits(kernel, line))
    own = [
        each
        for each in limits
        if text_of(each.index) == text_of(used.index) and not _is_constant(each.length)
    ]
    if own:
        return _changed(evidence, kernel, used, own[0]) or _other_length(evidence, used, own)
    return _other_index(evidence, used, limits) or _thread_for_block(evidence, kernel, used)


def _used(
    evidence: Evidence, kernel: ast.FunctionDef, line: int, found: re.Match[str]
) -> Used | None:
    names = parameters_of(evidence.text, kernel, found["name"])
    indices = {
        text_of(node.slice): node
        for node in ast.walk(kernel)
        if isinstance(node, ast.Subscript)
        and node.lineno == line
        and isinstance(node.value, ast.Name)
        and node.value.id in names
    }
    if len(indices) != 1:
        return None
    [node] = indices.values()
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    axis = ORDINALS.index(found["axis"]) if found["axis"] else 0
    if axis >= len(parts):
        return None
    return Used(line, root_of(node), axis, len(parts), parts[axis])


def _limits(kernel: ast.FunctionDef, line: int) -> Iterator[Limit]:
    for node in ast.walk(kernel):
        if not isinstance(node, Head):
            continue
        if not node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0):
            continue
        if not isinstance(node, ast.For):
            tests = list(ast.walk(node.test))
            if any(isinstance(each, ast.Or | ast.Not) for each in tests):
                continue
            for each in tests:
                if isinstance(each, ast.Compare) and isinstance(each.ops[-1], ast.Lt):
                    left = [each.left, *each.comparators][-2]
                    yield Limit(left, _meaning(kernel, each.comparators[-1]), node)
        elif isinstance(node.iter, ast.Call) and last_name(node.iter.func) == "range":
            end = node.iter.args[1:2] or node.iter.args[:1]
            if end and isinstance(node.target, ast.Name):
                yield Limit(node.target, _meaning(kernel, end[0]), node)


def _meaning(kernel: ast.FunctionDef, length: ast.expr) -> ast.expr:
    given = assigned(kernel, length.id) if isinstance(length, ast.Name) else []
    once = len(given) == 1 and isinstance(given[0], ast.Assign)
    return given[0].value if once and isinstance(given[0], ast.Assign) else length


def _is_constant(length: ast.expr) -> bool:
    return not names_in(length) or (isinstance(length, ast.Name) and length.id.isupper())


def _changed(
    evidence: Evidence, kernel: ast.FunctionDef, used: Used, limit: Limit
) -> Explanation | None:
    if not isinstance(limit.head, ast.If) or not isinstance(used.index, ast.Name):
        return None
    body = range(limit.head.lineno + 1, (limit.head.body[-1].end_lineno or 0) + 1)
    changes = [each.lineno for each in assigned(kernel, used.index.id) if each.lineno in body]
    loops = [
        node
        for node in ast.walk(limit.head)
        if isinstance(node, ast.For | ast.While)
        and node.lineno < used.line <= (node.end_lineno or 0)
        and any(node.lineno < line <= (node.end_lineno or 0) for line in changes)
    ]
    if not loops:
        return None
    return Explanation(
        f"{evidence.quoted(limit.head.lineno)} checks {used.index.id} once, before the loop. "
        f"{evidence.quoted(changes[0])} changes it in each turn: check it there, inside the loop.",
        limit.head.lineno,
        "missing_mask",
    )


def _other_length(evidence: Evidence, used: Used, limits: list[Limit]) -> Explanation | None:
    if any(_is_of(each.length, used) or not _is_length(each.length) for each in limits):
        return None
    limit = limits[0]
    index, length = text_of(used.index), text_of(limit.length)
    does = f"checks {index} against {length}"
    if isinstance(limit.head, ast.For):
        does = f"lets {index} run to {length}"
    return Explanation(
        f"{evidence.quoted(limit.head.lineno)} {does}, and {used.what}: is the index the wrong "
        "one, or the length?",
        limit.head.lineno,
        "transposed" if used.axes > 1 or _is_axis(limit.length) else "missing_mask",
    )


def _other_index(evidence: Evidence, used: Used, limits: list[Limit]) -> Explanation | None:
    others = [
        each
        for each in limits
        if _is_of(each.length, used)
        and isinstance(each.head, ast.If)
        and names_in(each.index) != names_in(used.index)
    ]
    if len(others) != 1 or sum(_is_of(each.length, used) for each in limits) != 1:
        return None
    head = others[0].head.lineno
    return Explanation(
        f"{evidence.quoted(head)} checks {text_of(others[0].index)}, and "
        f"line {used.line} uses another index of {used.array}: {text_of(used.index)}. Is the "
        "check wrong, or the index?",
        used.line,
        "missing_mask",
    )


def _thread_for_block(
    evidence: Evidence, kernel: ast.FunctionDef, used: Used
) -> Explanation | None:
    given = assigned(kernel, used.index.id) if isinstance(used.index, ast.Name) else []
    if used.axes != 2 or used.axis or len(given) != 1 or not isinstance(given[0], ast.Assign):
        return None
    if text_of(given[0].value) != "cuda.grid(1)":
        return None
    for launch in evidence.text.launches:
        pair = launch.func.slice if isinstance(launch.func, ast.Subscript) else None
        blocks = pair.elts[0] if isinstance(pair, ast.Tuple) and pair.elts else None
        if blocks is not None and root_of(launch.func) == kernel.name and _is_axis(blocks):
            return Explanation(
                f"{evidence.quoted(given[0].lineno)} is the thread's number in the grid. Line "
                f"{launch.lineno} launches as many blocks as {text_of(blocks)}: if each block does "
                "one row, the row is cuda.blockIdx.x.",
                given[0].lineno,
                "block_index",
            )
    return None


def _is_length(length: ast.expr) -> bool:
    return (isinstance(length, ast.Attribute) and length.attr == "size") or _is_axis(length)


def _is_axis(length: ast.expr) -> bool:
    return isinstance(length, ast.Subscript) and last_name(length.value) == "shape"


def _is_of(length: ast.expr, used: Used) -> bool:
    if not _is_length(length) or root_of(length) != used.array:
        return False
    axis = length.slice if isinstance(length, ast.Subscript) else None
    return axis is None or (isinstance(axis, ast.Constant) and axis.value == used.axis)


CAUSE = Cause(
    name="checked_index",
    looks_at="the index of a thread's access out of bounds, and the checks and loops around it",
    order=88,
    kinds=("out_of_bounds",),
    explain=explain,
)
