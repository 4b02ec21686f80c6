"""The lines that decide what a line stores: loops, first values, conditions, earlier kernels."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from grader.correctness.addresses import arguments_of
from grader.correctness.deciding.further import NUMBERS, Further, Loop, around, of_condition
from grader.correctness.evidence import Evidence
from grader.correctness.source import (
    assigned,
    calls,
    computed_at,
    last_name,
    mentions,
    names_in,
    root_of,
    statement_at,
    stored_value,
    stores_into,
)


def of_value(
    evidence: Evidence, kernel: ast.FunctionDef, statement: ast.stmt, store: int
) -> Iterator[Further]:
    """Yield the lines that decide a stored value, the likeliest mistakes first.

    For a sum, a loop's head or a first value with a literal number comes before all other lines.
    """
    heads = around(kernel, statement)
    loops = [each for each in heads if not isinstance(each, ast.If)]
    yield from _of_launch_arguments(evidence, kernel, statement)
    if loops and _accumulates(kernel, statement, loops[0]):
        odd = [each for each in loops if _is_odd(each)]
        yield from _of_loops(kernel, odd)
        yield from _of_first_value(kernel, statement, loops[-1], literal=True)
        yield from _of_earlier_kernel(evidence, kernel, statement)
        yield from _of_loops(kernel, [each for each in loops if _has_variables(each)])
        yield from _of_first_value(kernel, statement, loops[-1])
        yield from _of_fills(kernel, statement)
        yield from _of_loops(kernel, loops)
        return
    yield from _of_earlier_kernel(evidence, kernel, statement)
    stores_it = Further(store, "{} stores it.")
    if _fills_an_array(statement):
        yield from _of_later_steps(kernel, statement)
        yield stores_it
    if heads and isinstance(heads[0], ast.If):
        yield of_condition(heads[0])
    yield from _of_names(evidence, kernel, statement)
    yield stores_it
    yield from _of_fills(kernel, statement)


def _fills_an_array(statement: ast.stmt) -> bool:
    """Say whether a statement assigns to an element, as of shared memory that is stored later."""
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript)


def _of_later_steps(kernel: ast.FunctionDef, statement: ast.stmt) -> Iterator[Further]:
    assert isinstance(statement, ast.Assign)
    name = root_of(statement.targets[0])
    for step in ast.walk(kernel):
        if not isinstance(step, ast.Assign | ast.AugAssign) or step.lineno <= statement.lineno:
            continue
        target = step.target if isinstance(step, ast.AugAssign) else step.targets[0]
        loops = [each for each in around(kernel, step) if not isinstance(each, ast.If)]
        if isinstance(target, ast.Subscript) and root_of(target) == name and loops:
            yield Further(step.lineno, "{} changes that afterwards.")
            yield Further(loops[0].lineno, "The loop of {} decides how often.")


def _accumulates(kernel: ast.FunctionDef, statement: ast.stmt, loop: Loop) -> bool:
    if isinstance(statement, ast.AugAssign):
        return True
    own = _targets(statement) & names_in(getattr(statement, "value", statement))
    begun = range(loop.lineno, statement.lineno)
    return any(all(each.lineno not in begun for each in assigned(kernel, n)) for n in own)


def _is_odd(loop: Loop) -> bool:
    """Say whether a loop begins at another number than 0, or ends at a sum with a number."""
    given = loop.iter.args if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) else []
    first, end = (given[0], given[1]) if len(given) > 1 else (None, given[0] if given else None)
    late = isinstance(first, ast.Constant) and first.value != 0
    return late or (
        isinstance(end, ast.BinOp)
        and isinstance(end.op, ast.Add | ast.Sub)
        and isinstance(end.right, ast.Constant)
    )


def _has_variables(loop: Loop) -> bool:
    """Say whether a loop's head has a name that is not a constant of the file, as TILE is."""
    head = loop.iter if isinstance(loop, ast.For) else loop.test
    return any(not name.isupper() for name in names_in(head) - {"range", "tl"})


def _of_loops(kernel: ast.FunctionDef, loops: Sequence[Loop]) -> Iterator[Further]:
    """Yield the heads of loops; what a `while` begins with comes first."""
    for loop in loops:
        if isinstance(loop, ast.While):
            yield from _of_start(kernel, loop)
        yield Further(loop.lineno, "The loop of {} decides what goes into that.")


def _of_start(kernel: ast.FunctionDef, loop: ast.While) -> Iterator[Further]:
    for name in sorted(names_in(loop.test)):
        given = assigned(kernel, name)
        before = [each for each in given if each.lineno < loop.lineno]
        if before and any(loop.lineno < each.lineno <= (loop.end_lineno or 0) for each in given):
            yield Further(before[-1].lineno, "{} is where its loop begins.")


def _of_first_value(
    kernel: ast.FunctionDef,
    statement: ast.stmt,
    loop: Loop,
    *,
    literal: bool = False,
) -> Iterator[Further]:
    """Yield what a sum begins with, unless that is a value that changes none: 0, or -inf.

    With `literal`, only a number: most other first values are right.
    """
    for name in sorted(_targets(statement)):
        for each in reversed(assigned(kernel, name)):
            if each.lineno < loop.lineno and not _is_neutral(each):
                value = getattr(each, "value", None)
                plain = value is not None and not names_in(value) - {"float32", "tl"}
                if plain or not literal:
                    yield Further(each.lineno, "{} gives it the first value.")


def _is_neutral(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    numbers = [n.value for n in ast.walk(statement) if isinstance(n, ast.Constant)]
    if isinstance(value, ast.Call) and last_name(value.func) == "zeros":
        return True
    return "-inf" in numbers or (
        isinstance(value, ast.Constant | ast.Call) and numbers == [0] and not calls(value, "max")
    )


def _targets(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.Assign):
        return {each.id for each in statement.targets if isinstance(each, ast.Name)}
    target = getattr(statement, "target", None)
    return {target.id} if isinstance(target, ast.Name) else set()


def _of_names(
    evidence: Evidence, kernel: ast.FunctionDef, statement: ast.stmt
) -> Iterator[Further]:
    """Yield the lines that compute the names in a stored value; no places, and no loads.

    Names that are computed from these names follow.
    """
    waiting = [(name, statement.lineno) for name in _used(statement)]
    seen = set[str]()
    while waiting:
        evidence.in_time()
        name, line = waiting.pop(0)
        before = [each for each in assigned(kernel, name) if each.lineno < line]
        made = before[-1] if before else None
        if name in seen or not isinstance(made, ast.Assign | ast.AugAssign):
            continue
        seen.add(name)
        value, line = made.value, made.lineno
        if isinstance(value, ast.Constant | ast.Name) or calls(value, "load", "array"):
            continue
        if mentions(value, *NUMBERS):
            continue
        yield Further(line, f"{{}} computes {name}.")
        waiting += [(each, line) for each in _used(made)]


def _used(statement: ast.stmt) -> list[str]:
    value = stored_value(statement)
    nodes = [] if value is None else [n for n in ast.walk(value) if isinstance(n, ast.Name)]
    return list(dict.fromkeys(n.id for n in nodes))


def _of_fills(kernel: ast.FunctionDef, statement: ast.stmt) -> Iterator[Further]:
    for name in _used(statement):
        for each in stores_into(kernel, name, statement.lineno)[-1:]:
            yield Further(each.lineno, f"{{}} fills {name}.")


def _of_earlier_kernel(
    evidence: Evidence, kernel: ast.FunctionDef, statement: ast.stmt
) -> Iterator[Further]:
    for name in _used(statement):
        for other, parameter in _handed_on(evidence, kernel, name):
            stores = _stores_to(other, parameter)
            if len(stores) != 1:
                continue
            line = computed_at(evidence.text, stores[0])
            yield Further(line, f"{name} holds what {{}} computes.")
            computing = statement_at(other, line)
            heads = around(other, computing) if computing else []
            loops = [each for each in heads if not isinstance(each, ast.If)]
            yield from _of_loops(other, loops)


def _handed_on(
    evidence: Evidence, kernel: ast.FunctionDef, parameter: str
) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Yield the other kernels, with a parameter, that a launch gives the array of a parameter."""
    given = {
        value.id
        for _, _, arguments in arguments_of(evidence.text, kernel)
        for value in [arguments.get(parameter)]
        if isinstance(value, ast.Name)
    }
    for other in evidence.text.kernels:
        if other is kernel:
            continue
        for _, _, arguments in arguments_of(evidence.text, other):
            for name, value in arguments.items():
                if isinstance(value, ast.Name) and value.id in given:
                    yield other, name


def _stores_to(kernel: ast.FunctionDef, parameter: str) -> list[int]:
    found = {
        node.lineno
        for node in ast.walk(kernel)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and root_of(node) == parameter
    }
    for call in calls(kernel, "store", "atomic_add", "add"):
        if call.args and parameter in names_in(call.args[0]):
            found.add(call.lineno)
    return sorted(found)


def _of_launch_arguments(
    evidence: Evidence, kernel: ast.FunctionDef, statement: ast.stmt
) -> Iterator[Further]:
    """Yield the launch that gives a computed number for a parameter that the statement uses."""
    for _, _, arguments in arguments_of(evidence.text, kernel):
        for name in _used(statement):
            given = arguments.get(name)
            if isinstance(given, ast.BinOp):
                yield Further(given.lineno, f"{{}} passes {name} to the kernel.")


def of_branch(evidence: Evidence, line: int, stores: Sequence[int]) -> Iterator[Further]:
    """Yield the first store of an output in a branch, where the named line is its condition."""
    kernel = evidence.text.around(line)
    head = None if kernel is None else statement_at(kernel, line)
    if isinstance(head, ast.If):
        inside = range(line + 1, head.body[-1].lineno + 1)
        for store in [each for each in stores if each in inside][:1]:
            yield Further(store, "{} stores there.")
