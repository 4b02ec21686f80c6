"""Facts about a numba kernel from its text that its run in simulation does not show."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import cache
from itertools import chain
from types import CodeType

from grader.worker.source_sites import Site, text_of


@cache
def has_return(code: CodeType) -> bool:
    """Report whether a function contains `return`; without its text, assume that it does."""
    function = _function(code)
    return function is None or any(isinstance(part, ast.Return) for part in ast.walk(function))


@cache
def returned_at(code: CodeType) -> tuple[str, int] | None:
    """Return the place of a function's first `return` of a value; None without its text."""
    function = _function(code)
    lines = [
        part.lineno
        for part in ([] if function is None else ast.walk(function))
        if isinstance(part, ast.Return) and part.value is not None
    ]
    return (code.co_filename, min(lines)) if lines else None


@cache
def require_compilable(code: CodeType) -> None:
    """Raise TypeError if a kernel's text holds a construct that numba-cuda does not compile.

    From numba-cuda's documentation, "Supported Python features in CUDA Python".
    """
    function = _function(code)
    body = [] if function is None else function.body  # decorators are Python's
    for part in chain.from_iterable(map(ast.walk, body)):
        for kinds, (what, instead) in REFUSED.items():
            if isinstance(part, kinds):
                where = f"in a kernel (line {part.lineno})"
                raise TypeError(f"no compiler for a GPU takes {what} {where}: {instead}")


REFUSED: dict[tuple[type[ast.stmt | ast.expr], ...], tuple[str, str]] = {
    (ast.Try, ast.TryStar): ("`try`", "check with an `if` beforehand"),
    (ast.With,): ("`with`", "write what it does"),
    (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp): (
        "a comprehension",
        "write it as a loop",
    ),
    (ast.Yield, ast.YieldFrom): ("`yield`", "write into an array"),
}


@cache
def counts_from_end(site: Site) -> bool:
    """Report whether the text has a literal index like -1, which is meant to count from the end."""
    text = text_of(site)
    used = ast.parse(text, mode="eval").body if text else None
    return isinstance(used, ast.Subscript) and any(
        isinstance(part, ast.UnaryOp)
        and isinstance(part.op, ast.USub)
        and isinstance(part.operand, ast.Constant)
        for part in (used.slice.elts if isinstance(used.slice, ast.Tuple) else [used.slice])
    )


def _function(code: CodeType) -> ast.FunctionDef | None:
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        return None
    first = code.co_firstlineno  # that of its decorators, where it has any
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and first in (
            node.lineno,
            *(decorator.lineno for decorator in node.decorator_list),
        ):
            return node
    return None


@cache
def parted_in_a_turn(code: CodeType, one: int, other: int) -> bool:
    """Report whether a loop of this function holds both lines and a barrier between them.

    Threads that still race there are not in the same turn of the loop.
    """
    function = _function(code)
    first, last = sorted((one, other))
    return function is not None and any(
        isinstance(loop, ast.For | ast.While)
        and loop.lineno <= first < line < last <= (loop.end_lineno or 0)
        for loop in ast.walk(function)
        for line in _barriers(loop)
    )


@cache
def in_a_loop(code: CodeType, line: int) -> bool:
    """Report whether a loop of this function holds the line; without its text, assume so."""
    function = _function(code)
    return function is None or any(
        isinstance(loop, ast.For | ast.While) and loop.lineno < line <= (loop.end_lineno or 0)
        for loop in ast.walk(function)
    )


def _barriers(part: ast.AST) -> Iterator[int]:
    """Yield the lines of a text that call cuda.syncthreads or a variant of it."""
    for call in ast.walk(part):
        if isinstance(call, ast.Call) and _names_barrier(call.func):
            yield call.lineno


@cache
def uncalled_barrier(code: CodeType) -> int | None:
    """Return the line of a function that names a barrier as a statement and does not call it."""
    function = _function(code)
    statements = [] if function is None else ast.walk(function)
    for part in statements:
        if isinstance(part, ast.Expr) and _names_barrier(part.value):
            return part.lineno
    return None


def _names_barrier(part: ast.expr) -> bool:
    return isinstance(part, ast.Attribute) and part.attr.startswith("syncthreads")


@cache
def require_constant_shape(call: Site) -> None:
    """Raise TypeError if numba, which compiles a kernel before it runs, refuses an array's shape.

    Numba takes numbers, names that stand for one number, and tuples of these. It cannot know values
    from the kernel's arguments, because it compiles for arrays of every length at once. It computes
    nothing that contains a name.
    """
    text = text_of(call)
    made = ast.parse(text, mode="eval").body if text else None
    if not isinstance(made, ast.Call):
        return
    shapes = [*made.args[:1], *(given.value for given in made.keywords if given.arg == "shape")]
    code = call[0]
    parameters = code.co_varnames[: code.co_argcount]
    for shape in shapes:
        shown = f"the shape of an array, {ast.unparse(shape)},"
        if any(isinstance(part, ast.Name) and part.id in parameters for part in ast.walk(shape)):
            raise TypeError(f"{shown} is not known before the kernel runs")
        if not _plain(shape, code):
            raise TypeError(f"{shown} is computed in the kernel")


def _plain(shape: ast.expr, code: CodeType) -> bool:
    match shape:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name not in code.co_varnames or _stands_for_one(name, code)
        case ast.Tuple(elts=parts):
            return all(_plain(part, code) for part in parts)
        case ast.Subscript(value=ast.Name(), slice=ast.Constant()):
            return True
        case ast.BinOp() | ast.UnaryOp():  # of numbers alone, Python has computed it already
            return not any(isinstance(part, ast.Name) for part in ast.walk(shape))
        case ast.IfExp(body=one, orelse=other):
            return _plain(one, code) and _plain(other, code)
    return False


def _stands_for_one(name: str, code: CodeType) -> bool:
    """Report whether a variable of the function gets its value once, and plainly."""
    function = _function(code)
    if function is None:
        return True
    stores = [
        part
        for part in ast.walk(function)
        if isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store)
    ]
    values = [
        part.value
        for part in ast.walk(function)
        if isinstance(part, ast.Assign) and part.targets == stores
    ]
    return len(values) == 1 and _plain(values[0], code)
