"""The changes that make a wrong kernel of a right one, each as a function of one node."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from grader.authoring.editable import Edit, Kernel, called

Operator = Callable[[Kernel, ast.AST], Iterator[Edit]]


def _without(kernel: Kernel, call: ast.Call, dropped: Sequence[ast.keyword]) -> Edit:
    left = [*call.args, *(k for k in call.keywords if k not in dropped)]
    return Edit(call, f"{kernel.text(call.func)}({', '.join(map(kernel.text, left))})")


def _keyword(call: ast.AST, name: str) -> ast.keyword | None:
    keywords = call.keywords if isinstance(call, ast.Call) else []
    return next((k for k in keywords if k.arg == name), None)


# -- masks and barriers


def drop_mask(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    """Drop mask= and other= of a load or store."""
    if called(node) in ("load", "store") and _keyword(node, "mask"):
        assert isinstance(node, ast.Call)
        yield _without(kernel, node, [k for k in node.keywords if k.arg in ("mask", "other")])


def drop_other(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    if called(node) == "load" and (other := _keyword(node, "other")):
        assert isinstance(node, ast.Call)
        yield _without(kernel, node, [other])


def skip_one_percent(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    """Leave out every hundredth element, by a mask or in a loop that accumulates."""
    if called(node) in ("load", "store") and (mask := _keyword(node, "mask")):
        assert isinstance(node, ast.Call)
        address = node.args[0]
        if isinstance(address, ast.BinOp):
            each = kernel.text(address.right)
            text = kernel.text(mask.value)
            yield Edit(mask.value, f"({text}) & ({each} % 100 != 99)")
    if isinstance(node, ast.For) and called(node.iter) == "range":
        each = kernel.text(node.target)
        for statement in node.body:
            if isinstance(statement, ast.AugAssign) and f"[{each}]" in kernel.text(statement):
                text = kernel.text(statement.value)
                yield Edit(statement.value, f"({text}) * ({each} % 100 != 99)")


def drop_barrier(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Expr) and called(node.value) in (
        "syncthreads",
        "syncwarp",
        "debug_barrier",
        "threadfence",
    ):
        yield Edit(node, "pass")


# -- the arithmetic of a softmax


def drop_max_subtraction(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    """Replace exp(x - m) by exp(x)."""
    if called(node) in ("exp", "exp2"):
        assert isinstance(node, ast.Call)
        inner = node.args[0]
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub):
            yield Edit(inner, kernel.text(inner.left))


def drop_rescale(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    """Replace total = total * factor + more by total = total + more."""
    if not isinstance(node, ast.Assign):
        return
    name = kernel.text(node.targets[0])
    for inner in ast.walk(node.value):
        if not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Mult):
            continue
        if name in (kernel.text(inner.left), kernel.text(inner.right)):
            yield Edit(inner, name)


def half_accumulate(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    """Put float16 in place of float32."""
    if isinstance(node, ast.Attribute) and node.attr == "float32":
        yield Edit(node, f"{kernel.text(node.value)}.float16")
    if isinstance(node, ast.Name) and node.id == "float32":
        yield Edit(node, "np.float16")
    if isinstance(node, ast.For):
        for statement in node.body:
            yield from _rounded_each_time(kernel, statement)


def _rounded_each_time(kernel: Kernel, statement: ast.stmt) -> Iterator[Edit]:
    """Round the value that a loop accumulates to float16 after each step."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        name, value = kernel.text(statement.target), kernel.text(statement.value)
        value = f"{name} + {value}"
    elif isinstance(statement, ast.Assign):
        name, value = kernel.text(statement.targets[0]), kernel.text(statement.value)
        if not any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(statement.value)):
            return
    else:
        return
    yield Edit(statement, f"{name} = {kernel.half.format(value=value)}")


def drop_cast(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    """Replace x.to(dtype) by x."""
    if called(node) == "to" and isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Attribute)
        yield Edit(node, kernel.text(node.func.value))


REDUCTIONS = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum", "sum": "max"}


def change_reduction(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    """Put the minimum in place of the maximum, the maximum in place of the sum."""
    if isinstance(node, ast.Call) and called(node) in REDUCTIONS:
        name = kernel.text(node.func)
        head = name.removesuffix(called(node))
        yield Edit(node.func, head + REDUCTIONS[called(node)])


# -- comparisons, arithmetic, constants

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
}


def change_comparison(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    """Take one element more or less: < for <=, and the like; != for ==."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        left, right = kernel.text(node.left), kernel.text(node.comparators[0])
        yield Edit(node, f"{left} {COMPARISONS[type(node.ops[0])]} {right}")


def drop_condition(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.If):
        yield Edit(node.test, "True")


OPERATIONS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
}


def change_arithmetic(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        old, new = OPERATIONS[type(node.op)]
        begin, right = kernel.span(node)[0], kernel.span(node.right)[0]
        end = kernel.span(node.left)[1] - begin
        text = kernel.text(node).encode()
        middle = text[end : right - begin].replace(old.encode(), new.encode(), 1)
        yield Edit(node, (text[:end] + middle + text[right - begin :]).decode())


def drop_operand(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
        yield Edit(node, f"({kernel.text(node.left)})")
        yield Edit(node, f"({kernel.text(node.right)})")


def change_constant(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    """Replace a number n by n + 1, and minus infinity by 0."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield Edit(node, repr(node.value + 1))  # type: ignore[operator]
    if called(node) == "float" and isinstance(node, ast.Call):
        yield Edit(node, "0.0")


# -- blocks, offsets, strides, launches


def _one_off(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    text = kernel.text(node)
    yield Edit(node, f"({text} + 1)")
    yield Edit(node, f"({text} - 1)")


def one_off_grid(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    if any(node is grid for grid in kernel.grids):
        yield from _one_off(kernel, node)


def one_off_range(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    if called(node) == "range" and isinstance(node, ast.Call):
        for bound in node.args:
            if not isinstance(bound, ast.Constant):
                yield from _one_off(kernel, bound)


def one_off_block(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    """Replace program * BLOCK by program * (BLOCK + 1), and the like."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for operand in (node.left, node.right):
            if isinstance(operand, ast.Name) and operand.id.isupper():
                yield from _one_off(kernel, operand)


def one_off_address(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    if called(node) in ("load", "store") and isinstance(node, ast.Call):
        yield Edit(node.args[0], f"{kernel.text(node.args[0])} + 1")
    if isinstance(node, ast.Subscript) and not kernel.is_launched(node):
        yield Edit(node.slice, f"{kernel.text(node.slice)} + 1")


def round_down(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    """Replace cdiv(n, BLOCK), which rounds up, by n // BLOCK."""
    if called(node) == "cdiv" and isinstance(node, ast.Call) and len(node.args) == 2:
        count, block = map(kernel.text, node.args)
        yield Edit(node, f"({count}) // ({block})")


def skip_block(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    if called(node) == "range" and isinstance(node, ast.Call) and len(node.args) == 3:
        start, stop, step = node.args
        yield Edit(start, f"{kernel.text(start)} + {kernel.text(step)}")
        yield Edit(stop, f"{kernel.text(stop)} - {kernel.text(step)}")


def swap_arguments(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    if not isinstance(node, ast.Call):
        return
    for one, two in zip(node.args, node.args[1:], strict=False):
        if isinstance(one, ast.Starred) or isinstance(two, ast.Starred):
            continue
        begin, end = kernel.span(node)
        first, second = kernel.span(one), kernel.span(two)
        text = kernel.text(node).encode()
        yield Edit(
            node,
            (
                text[: first[0] - begin]
                + kernel.text(two).encode()
                + text[first[1] - begin : second[0] - begin]
                + kernel.text(one).encode()
                + text[second[1] - begin : end - begin]
            ).decode(),
        )


def change_stride(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    """Put another tensor's stride, or the length of a row, in place of a stride."""
    if not any(node is stride for stride in kernel.strides):
        return
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    yield Edit(node, f"{kernel.text(node.func.value)}.shape[-1]")
    for other in dict.fromkeys(map(kernel.text, kernel.strides)):
        if other != kernel.text(node):
            yield Edit(node, other)


def drop_statement(kernel: Kernel, node: ast.AST) -> Iterator[Edit]:
    """Drop a store, a launch, a return or a second assignment."""
    if not isinstance(node, ast.FunctionDef):
        return
    known: set[str] = set()
    for inner in ast.walk(node):
        calls = isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call)
        if calls or isinstance(inner, ast.AugAssign | ast.Return):
            yield Edit(inner, "pass")
        elif isinstance(inner, ast.Assign):
            name = kernel.text(inner.targets[0])
            if name in known or isinstance(inner.targets[0], ast.Subscript):
                yield Edit(inner, "pass")
            known.add(name)


OPERATORS: tuple[Operator, ...] = (
    drop_mask,
    drop_other,
    skip_one_percent,
    drop_barrier,
    drop_max_subtraction,
    drop_rescale,
    half_accumulate,
    drop_cast,
    change_reduction,
    change_comparison,
    drop_condition,
    change_arithmetic,
    drop_operand,
    change_constant,
    one_off_grid,
    one_off_range,
    one_off_block,
    one_off_address,
    round_down,
    skip_block,
    swap_arguments,
    change_stride,
    drop_statement,
)
