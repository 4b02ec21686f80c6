"""Addresses of a kernel's loads and stores, as sums of products, as the file's text shows them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from grader.correctness.source import Source, assigned, calls, last_name, root_of

ACCESSES = ("load", "store", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg")
PROGRAM, LANES = "program", "lanes"  # factors that are not names
MOST_TERMS, DEEPEST, LONGEST = 16, 8, 40


@dataclass(frozen=True)
class Term:
    """A product of an address: its factors, and the line where they are multiplied (or named).

    A factor is a name, a number, `program 0` for the number of the program along an axis, or
    `lanes 64` for the counting block of `tl.arange(0, 64)`.
    """

    factors: tuple[str, ...]
    line: int

    @property
    def lanes(self) -> str | None:
        """The number of lanes, where the term counts those of a block and has no factor."""
        first, _, size = self.factors[0].partition(" ")
        return size if len(self.factors) == 1 and first == LANES else None

    @property
    def alone(self) -> str | None:
        """The only factor, or None."""
        return self.factors[0] if len(self.factors) == 1 else None


def accesses(kernel: ast.FunctionDef, line: int = 0) -> list[ast.Call]:
    """Return the calls of a kernel that load or store; those of one line, if one is given."""
    return [
        call
        for call in calls(kernel, *ACCESSES)
        if call.args and (not line or call.lineno <= line <= (call.end_lineno or line))
    ]


def terms(kernel: ast.FunctionDef, address: ast.expr, keep: Collection[str] = ()) -> list[Term]:
    """Take an address apart; names that one assignment computes are replaced, unless kept.

    Returns an empty list if there are more than MOST_TERMS terms.
    """
    found = _terms(kernel, address, frozenset(keep), 0)
    return found if len(found) <= MOST_TERMS else []


def _terms(kernel: ast.FunctionDef, node: ast.expr, keep: frozenset[str], depth: int) -> list[Term]:
    node = bare(node)
    if depth > DEEPEST:
        return [Term((text_of(node),), node.lineno)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left = _terms(kernel, node.left, keep, depth + 1)
        return left + _terms(kernel, node.right, keep, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left = _terms(kernel, node.left, keep, depth + 1)[:MOST_TERMS]
        right = _terms(kernel, node.right, keep, depth + 1)[:MOST_TERMS]
        return [Term((*a.factors, *b.factors), node.lineno) for a in left for b in right]
    if isinstance(node, ast.Name) and node.id not in keep:
        value = meaning(kernel, node.id)
        if value is not None and _is_arithmetic(value):
            return _terms(kernel, value, keep, depth + 1)
    return [Term((_leaf(node),), node.lineno)]


def meaning(kernel: ast.FunctionDef, name: str) -> ast.expr | None:
    """Return the expression that a name stands for, if all assignments give it the same text."""
    values = [each.value for each in assigned(kernel, name) if isinstance(each, ast.Assign)]
    texts = {text_of(value) for value in values}
    if len(values) != len(assigned(kernel, name)) or len(texts) != 1:
        return None
    return values[0] if len(values) == 1 or len(texts.pop()) < LONGEST else None


def bare(node: ast.expr) -> ast.expr:
    """Strip conversions and further axes: `row.to(tl.int64)[:, None]` is `row`."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in ("to", "cast"):
                return node
            node = node.func.value
        elif isinstance(node, ast.Subscript) and _adds_an_axis(node.slice):
            node = node.value
        else:
            return node


def _adds_an_axis(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else []
    none = [isinstance(each, ast.Constant) and each.value is None for each in parts]
    return any(none)


def text_of(node: ast.AST) -> str:
    """Return the text of a short expression; one that nests too deep has none."""
    try:
        return ast.unparse(node)[:LONGEST]
    except RecursionError:
        return ""


def _is_arithmetic(value: ast.expr) -> bool:
    value = bare(value)
    if isinstance(value, ast.Call):
        return last_name(value.func) in ("program_id", "arange")
    return isinstance(value, ast.BinOp | ast.Name)


def _leaf(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and last_name(node.func) == "program_id":
        return f"{PROGRAM} {text_of(node.args[0]) if node.args else 0}"
    if isinstance(node, ast.Call) and last_name(node.func) == "arange":
        return f"{LANES} {text_of(node.args[-1]) if node.args else 0}"
    return text_of(node)


def depends_on(kernel: ast.FunctionDef, node: ast.AST, *names: str) -> bool:
    """Say whether an expression uses one of these names, through assignments of the kernel too.

    A call of a function of that name counts as well: `program_id`.
    """
    waiting, seen = [node], set[str]()
    while waiting:
        for each in ast.walk(waiting.pop()):
            name = last_name(each) if isinstance(each, ast.Name | ast.Attribute) else ""
            if name in names:
                return True
            if isinstance(each, ast.Name) and name not in seen:
                seen.add(name)
                waiting += [_giving(statement) for statement in assigned(kernel, name)]
    return False


ALIKE = (
    "has no number of the program in its address, so all programs load the same elements. Does "
    "each need elements of its own?"
)


def loads_alike(kernel: ast.FunctionDef | None, line: int) -> bool:
    """Say whether a line loads the same elements in all programs of a kernel that numbers them."""
    if kernel is None or not calls(kernel, "program_id"):
        return False
    loads = [call for call in accesses(kernel, line) if last_name(call.func) == "load"]
    addresses = [call.args[0] for call in loads]
    return bool(loads) and not any(depends_on(kernel, each, "program_id") for each in addresses)


def _giving(statement: ast.stmt) -> ast.AST:
    """Return the part of an assignment or a loop's head that gives the value."""
    if isinstance(statement, ast.For):
        return statement.iter
    value = getattr(statement, "value", None)
    return value if isinstance(value, ast.AST) else statement


def compared(kernel: ast.FunctionDef, mask: ast.expr) -> Iterator[ast.Compare]:
    """Yield the comparisons `place < length` of a mask, and of names that it uses."""
    waiting: list[ast.AST] = [mask]
    seen: set[str] = set()
    while waiting:
        for each in ast.walk(waiting.pop()):
            if isinstance(each, ast.Compare) and len(each.ops) == 1:
                if isinstance(each.ops[0], ast.Lt):
                    yield each
            elif isinstance(each, ast.Name) and each.id not in seen:
                seen.add(each.id)
                value = meaning(kernel, each.id)
                waiting += [] if value is None else [value]


def bounds(kernel: ast.FunctionDef) -> dict[str, str]:
    """Return the names that are compared with a length, as in `row < rows`, and that length."""
    return {
        text_of(bare(node.left)): node.comparators[0].id
        for node in ast.walk(kernel)
        if isinstance(node, ast.Compare)
        and len(node.ops) == 1
        and isinstance(node.ops[0], ast.Lt)
        and isinstance(bare(node.left), ast.Name)
        and isinstance(node.comparators[0], ast.Name)
    }


def extent_of(source: Source, given: ast.expr, host: ast.AST) -> tuple[str, int, int] | None:
    """Return the array and axis whose length an expression of a host function is.

    The last number is how many axes the host's text shows, or 0: `rows, columns = x.shape`.
    """
    if isinstance(given, ast.Name):
        for statement in assigned(host, given.id):
            if not isinstance(statement, ast.Assign):
                return None
            [target, *_] = statement.targets
            if not isinstance(target, ast.Tuple):
                return extent_of(source, statement.value, host)
            value = statement.value
            if isinstance(value, ast.Attribute) and value.attr == "shape":
                names = [each.id if isinstance(each, ast.Name) else "" for each in target.elts]
                return root_of(value), names.index(given.id), len(names)
        return None
    return _axis(given)


def _axis(given: ast.expr) -> tuple[str, int, int] | None:
    """Read `x.shape[1]`, `x.size(1)` or `x.shape[-1]`."""
    index: ast.expr | None = None
    if isinstance(given, ast.Subscript) and last_name(given.value) == "shape":
        index = given.slice
    elif isinstance(given, ast.Call) and last_name(given.func) == "size" and given.args:
        index = given.args[0]
    try:
        number = None if index is None else ast.literal_eval(index)
    except ValueError:
        return None
    return None if not isinstance(number, int) else (root_of(given), number, 0)


def is_last(extent: tuple[str, int, int] | None, axes: int) -> bool | None:
    """Say whether a length is that of the last axis of an array of so many; None: not known."""
    if extent is None or axes < 2 or extent[2] not in (0, axes):
        return None
    return extent[1] in (-1, axes - 1)


def arguments_of(
    source: Source, kernel: ast.FunctionDef
) -> Iterator[tuple[ast.Call, ast.FunctionDef, dict[str, ast.expr]]]:
    """Yield the launches of a kernel: the call, its function, and the parameters' arguments."""
    for host in source.hosts:
        for call in ast.walk(host):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Subscript):
                continue
            if root_of(call.func) != kernel.name:
                continue
            listed = [one for each in call.args for one in _listed(each, host)]
            if any(isinstance(each, ast.Starred) for each in listed):
                continue
            names = [each.arg for each in kernel.args.args]
            given = dict(zip(names, listed, strict=False))
            given |= {each.arg: each.value for each in call.keywords if each.arg in names}
            yield call, host, given


def _listed(argument: ast.expr, host: ast.FunctionDef) -> Sequence[ast.expr]:
    """Return the arguments that `*strides` stands for, if the host lists them in one statement."""
    if isinstance(argument, ast.Starred) and isinstance(argument.value, ast.Name):
        given = assigned(host, argument.value.id)
        if len(given) == 1 and isinstance(given[0], ast.Assign):
            [target, *_], value = given[0].targets, given[0].value
            if isinstance(target, ast.Name) and isinstance(value, ast.Tuple | ast.List):
                return value.elts
    return [argument]


def grid_of(source: Source, launch: ast.Call, host: ast.FunctionDef) -> list[ast.expr]:
    """Return the numbers of programs of a launch along its axes, as its text has them."""
    assert isinstance(launch.func, ast.Subscript)
    grid: ast.expr = launch.func.slice
    if isinstance(grid, ast.Name):
        given = assigned(host, grid.id)
        if len(given) == 1 and isinstance(given[0], ast.Assign):
            grid = given[0].value
    return list(grid.elts) if isinstance(grid, ast.Tuple) else [grid]
