"""Sums and maxima with one number for each lane, used where one for all lanes is needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.correctness.addresses import terms
from grader.correctness.cause import VALUES, Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import assigned, last_name, names_in

REDUCTIONS = ("sum", "max", "min", "reduce", "argmax", "argmin", "xor_sum", "cumsum", "dot")


def explain(evidence: Evidence) -> Explanation | None:
    """Explain a name that collects blocks of one row, and that no line of its kernel reduces."""
    for kernel in evidence.text.kernels:
        for loop in (node for node in ast.walk(kernel) if isinstance(node, ast.For)):
            for name, line, how in _collected(kernel, loop):
                used = _first_use(kernel, loop, name)
                lanes = _lanes_at_first(kernel, name, loop)
                along = _goes_along_a_row(kernel, loop, lanes)
                if used and along and not _is_reduced(kernel, name):
                    return Explanation(
                        f"{evidence.quoted(line)} keeps one number a lane in {name}, and no line "
                        f"reduces the lanes to one number: do so with tl.{how}({name}, axis=0), "
                        f"after the loop and before line {used}.",
                        line,
                        "not_reduced",
                        complete=True,
                    )
    return None


def _collected(kernel: ast.FunctionDef, loop: ast.For) -> Iterator[tuple[str, int, str]]:
    inside = [node for node in ast.walk(loop) if isinstance(node, ast.Assign | ast.AugAssign)]
    for node in inside:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if not isinstance(target, ast.Name) or not _lanes_at_first(kernel, target.id, loop):
            continue
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            yield target.id, node.lineno, "sum"
        elif isinstance(node, ast.Assign) and target.id in names_in(node.value):
            value = node.value
            if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
                yield target.id, node.lineno, "sum"
            elif isinstance(value, ast.Call) and last_name(value.func) in ("maximum", "minimum"):
                yield target.id, node.lineno, last_name(value.func)[:3]


def _lanes_at_first(kernel: ast.FunctionDef, name: str, loop: ast.For) -> str:
    """Return BLOCK for `tl.zeros((BLOCK,), tl.float32)`; nothing for what has another form."""
    first = [each for each in assigned(kernel, name) if each.lineno < loop.lineno]
    value = getattr(first[-1], "value", None) if first else None
    if not isinstance(value, ast.Call) or last_name(value.func) not in ("zeros", "full"):
        return ""
    shape = value.args[0] if value.args else None
    if not isinstance(shape, ast.Tuple | ast.List) or len(shape.elts) != 1:
        return ""
    return ast.unparse(shape.elts[0])


def _goes_along_a_row(kernel: ast.FunctionDef, loop: ast.For, size: str) -> bool:
    """Say whether a turn's lanes go on where those of the turn before ended: `start + lanes`.

    Only lanes of this size count. A sum for each row of a tile has as many as there are rows.
    """
    if not isinstance(loop.target, ast.Name):
        return False
    turn = loop.target.id
    step = (
        loop.iter.args[2] if isinstance(loop.iter, ast.Call) and len(loop.iter.args) > 2 else None
    )
    apart = "" if step is None else ast.unparse(step)
    for node in (n for each in loop.body for n in ast.walk(each)):
        if not isinstance(node, ast.BinOp) or turn not in names_in(node):
            continue
        parts = terms(kernel, node, (turn,))
        lanes = {part.lanes for part in parts if part.lanes == size}
        begins = [part.factors for part in parts if turn in part.factors]
        if (begins == [(turn,)] and apart in lanes) or any(lanes & set(each) for each in begins):
            return True
    return False


def _first_use(kernel: ast.FunctionDef, loop: ast.For, name: str) -> int:
    end = loop.end_lineno or 0
    lines = [
        node.lineno
        for node in ast.walk(kernel)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    return min((line for line in lines if line > end), default=0)


def _is_reduced(kernel: ast.FunctionDef, name: str) -> bool:
    """Say whether a reduction may have the name; other functions of the file may reduce, too."""
    names = {name}
    for _ in range(4):
        names |= {
            target.id
            for node in ast.walk(kernel)
            if isinstance(node, ast.Assign) and names & names_in(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
    return any(
        names & names_in(each)
        for call in ast.walk(kernel)
        if isinstance(call, ast.Call) and _may_reduce(call)
        for each in call.args
    )


def _may_reduce(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) or last_name(call.func) in REDUCTIONS


CAUSE = Cause(
    name="lanes_not_reduced",
    looks_at="the blocks of lanes that a loop along a row collects, and the reductions",
    order=19,
    kinds=VALUES,
    explain=explain,
)
