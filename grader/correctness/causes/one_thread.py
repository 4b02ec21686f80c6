"""Work that one thread, or one program, does for all."""

from __future__ import annotations

import ast

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, mentions, names_in

NUMBERS = ("threadIdx", "blockIdx", "grid", "laneid", "program_id")


def explain(evidence: Evidence) -> Explanation | None:
    for kernel in evidence.text.kernels:
        for node in ast.walk(kernel):
            if isinstance(node, ast.If) and _asks_for_the_first(kernel, node.test):
                loops = [each for part in node.body for each in ast.walk(part)]
                if any(isinstance(each, ast.For | ast.While) for each in loops) and _at(
                    evidence, node.lineno, node.end_lineno
                ):
                    return _explanation(evidence, node.lineno)
    launches = evidence.text.launches if evidence.threads else ()  # a program may have many lanes
    for launch in launches:
        assert isinstance(launch.func, ast.Subscript)
        brackets = launch.func.slice
        numbers = brackets.elts if isinstance(brackets, ast.Tuple) else [brackets]
        if len(numbers) == 2 and all(_is_one(each) for each in numbers) and len(launches) == 1:
            return _explanation(evidence, launch.lineno)
    return None


def _explanation(evidence: Evidence, line: int) -> Explanation:
    return Explanation(
        f"{evidence.quoted(line)} leaves the work to one thread, and all others wait for it: give "
        "each thread a share of the elements.",
        line,
    )


def _at(evidence: Evidence, first: int, last: int | None) -> bool:
    """Say whether the line that a count is about, if it names one, is among these."""
    frames = evidence.failure.frames
    return not frames or first <= frames[-1].line <= (last or first)


def _asks_for_the_first(kernel: ast.FunctionDef, test: ast.expr) -> bool:
    """Say whether a condition holds for one thread only, as `threadIdx.x == 0` does."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    return any(
        isinstance(each, ast.Compare)
        and isinstance(each.ops[0], ast.Eq)
        and isinstance(each.comparators[0], ast.Constant)
        and each.comparators[0].value == 0
        and _is_number(kernel, each.left)
        for each in parts
    )


def _is_number(kernel: ast.FunctionDef, node: ast.expr) -> bool:
    """Say whether an expression is the number of a thread or program, not a value of an array."""
    if any(isinstance(each, ast.Subscript) for each in ast.walk(node)):
        return False
    named = [each for name in names_in(node) for each in assigned(kernel, name)]
    return mentions(node, *NUMBERS) or any(mentions(each, *NUMBERS) for each in named)


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


CAUSE = Cause(
    name="one_thread",
    looks_at="an `if` for one thread that holds a loop, or a launch of one thread",
    order=30,
    kinds=("counts", "traffic"),
    explain=explain,
)
