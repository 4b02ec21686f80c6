"""Threads that go on by less than a grid, so that blocks do each other's elements again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.correctness.addresses import depends_on, terms, text_of
from grader.correctness.cause import VALUES, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, last_name, names_in

BLOCK = ("blockIdx", "grid")


def explain(evidence: Evidence) -> Explanation | None:
    """Explain a loop that begins at a place in the grid, and goes on by a block's threads or 1.

    Of a wrong value, a step of 1 says nothing: each thread may sum up all that follows.
    """
    counted = evidence.failure.message.startswith("every element of ")
    if not evidence.threads or (evidence.failure.kind == "traffic" and not counted):
        return None
    sizes = _block_sizes(evidence)
    for kernel in evidence.text.kernels:
        if not counted and not _has_many_blocks(evidence, kernel):
            continue
        for begin, end, step, line in (*_for_loops(kernel), *_while_loops(kernel)):
            if not depends_on(kernel, begin, *BLOCK) or depends_on(kernel, end, *BLOCK):
                continue
            if _is_short(kernel, step, sizes) and (counted or not _is_one(step)):
                apart = _apart(kernel, begin, step, sizes)
                cause = "repeated_access" if counted or apart else "block_index"
                return Explanation(_hint(evidence, line, step, apart), line, cause)
    return None


def _hint(evidence: Evidence, line: int, step: ast.expr | None, apart: str) -> str:
    if apart:
        return (
            f"{evidence.quoted(line)} goes on through the elements of all later blocks. Blocks "
            f"begin {apart} elements apart: the elements of a block end {apart} after its first "
            "one, or at the length if that comes first."
        )
    by = "one element" if step is None else ast.unparse(step)
    return (
        f"{evidence.quoted(line)} goes on by {by}, less than the threads of the grid: other "
        "threads do the elements of one thread again. The step is the number of all threads: "
        "cuda.gridsize(1), or cuda.blockDim.x * cuda.gridDim.x."
    )


def _has_many_blocks(evidence: Evidence, kernel: ast.FunctionDef) -> bool:
    launches = evidence.launches or ()
    return any(each.kernel == kernel.name and each.grid[0] > 1 for each in launches)


def _is_one(step: ast.expr | None) -> bool:
    return step is None or (isinstance(step, ast.Constant) and step.value == 1)


def _apart(kernel: ast.FunctionDef, begin: ast.expr, step: ast.expr | None, sizes: set[str]) -> str:
    """Return the constant that a block's number is multiplied by, if blocks have more than threads.

    Empty where it is another expression, or the threads of a block.
    """
    for term in terms(kernel, begin):
        others = [each for each in term.factors if not each.startswith("cuda.blockIdx")]
        if len(term.factors) == 2 and len(others) == 1 and others[0].isupper():
            plain = others[0] not in sizes and step is not None and others[0] != text_of(step)
            return others[0] if plain else ""
    return ""


def _is_short(kernel: ast.FunctionDef, step: ast.expr | None, sizes: set[str]) -> bool:
    if step is None or _is_one(step):
        return True
    if depends_on(kernel, step, "gridsize", "gridDim"):
        return False
    if isinstance(step, ast.Name) and (given := assigned(kernel, step.id)):
        return len(given) == 1 and _is_block_size(getattr(given[0], "value", None), sizes)
    return _is_block_size(step, sizes)


def _is_block_size(step: ast.expr | None, sizes: set[str]) -> bool:
    if isinstance(step, ast.Attribute):
        return last_name(step.value) == "blockDim"
    return isinstance(step, ast.Name) and step.id in sizes


def _block_sizes(evidence: Evidence) -> set[str]:
    """Return the names that launches have for a number of threads: B of `kernel[blocks, B]`."""
    brackets = [
        each.func.slice for each in evidence.text.launches if isinstance(each.func, ast.Subscript)
    ]
    pairs = [each.elts for each in brackets if isinstance(each, ast.Tuple)]
    return {each[1].id for each in pairs if len(each) > 1 and isinstance(each[1], ast.Name)}


Loop = tuple[ast.expr, ast.expr, ast.expr | None, int]


def _for_loops(kernel: ast.FunctionDef) -> Iterator[Loop]:
    for node in ast.walk(kernel):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            given = node.iter.args
            if last_name(node.iter.func) == "range" and len(given) > 1:
                yield given[0], given[1], given[2] if len(given) > 2 else None, node.lineno


def _while_loops(kernel: ast.FunctionDef) -> Iterator[Loop]:
    for node in ast.walk(kernel):
        if not isinstance(node, ast.While) or not isinstance(node.test, ast.Compare):
            continue
        turn, end = node.test.left, node.test.comparators[0]
        if not isinstance(turn, ast.Name) or turn.id in names_in(end):
            continue
        given = assigned(kernel, turn.id)
        steps = [each for each in given if isinstance(each, ast.AugAssign)]
        begins = [each for each in given if isinstance(each, ast.Assign)]
        if len(steps) == len(begins) == 1 and isinstance(steps[0].op, ast.Add):
            yield begins[0].value, end, steps[0].value, steps[0].lineno


CAUSE = Cause(
    name="stride_of_one_block",
    looks_at="the begin and the step of loops, where elements are used more than once",
    order=59,
    kinds=(*VALUES, "traffic"),
    explain=explain,
)
