"""The parts of a kernel file by its text: kernels, launches, comparisons. Nothing is executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

LONGEST = 100_000  # characters of a kernel file; Python's parser may need much memory
MOST_NODES = 20_000
MOST_NAMES = 32  # in the grids of a function's launches


@dataclass(frozen=True)
class Source:
    """A kernel file, line by line, and the name of the decorator that makes a function a kernel."""

    lines: Sequence[str]
    decorator: str = ""

    def text(self, line: int) -> str:
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """The syntax tree's nodes; none where the file is no Python, or too much of it."""
        text = "\n".join(self.lines)
        if len(text) > LONGEST:
            return ()
        try:
            tree = ast.parse(text)
            nodes = list(islice(ast.walk(tree), MOST_NODES))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ()
        return tuple(nodes)

    @cached_property
    def functions(self) -> tuple[ast.FunctionDef, ...]:
        return tuple(node for node in self.nodes if isinstance(node, ast.FunctionDef))

    @cached_property
    def modules(self) -> dict[str, str]:
        """The imported modules by the names that the file has for them."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found |= {(a.asname or a.name.partition(".")[0]): a.name for a in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {(a.asname or a.name): node.module for a in node.names}
        return found

    @cached_property
    def kernels(self) -> tuple[ast.FunctionDef, ...]:
        """The functions that a decorator of the library stands above."""
        jit = self.decorator.strip("@").rpartition(".")[2]
        return tuple(
            function
            for function in self.functions
            if any(jit and mentions(each, jit) for each in function.decorator_list)
        )

    @cached_property
    def hosts(self) -> tuple[ast.FunctionDef, ...]:
        return tuple(each for each in self.functions if each not in self.kernels)

    def around(self, line: int) -> ast.FunctionDef | None:
        """Return the function that a line belongs to."""
        inside = [f for f in self.functions if f.lineno <= line <= (f.end_lineno or f.lineno)]
        return inside[-1] if inside else None

    @cached_property
    def launches(self) -> tuple[ast.Call, ...]:
        """The calls `kernel[…](…)` of the file's other functions."""
        return tuple(
            node
            for node in _nodes(self.hosts)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)
        )

    def first_line(self, *patterns: str) -> int:
        """Return the first line of a kernel that has the first pattern that any has, or 0.

        Comments and docstrings do not count.
        """
        for pattern in patterns:
            for number in self._kernel_lines:
                if re.search(pattern, self.text(number).partition("#")[0]):
                    return number
        return 0

    @cached_property
    def _kernel_lines(self) -> list[int]:
        return sorted(
            {
                node.lineno
                for kernel in self.kernels
                for node in ast.walk(kernel)
                if isinstance(node, ast.stmt)
                and node is not kernel
                and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
            }
        )


def _nodes(functions: Sequence[ast.FunctionDef]) -> Iterator[ast.AST]:
    for function in functions:
        yield from ast.walk(function)


def calls(function: ast.AST, *names: str) -> list[ast.Call]:
    """Return the calls of functions with these last names, such as `program_id`."""
    return [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and last_name(node.func) in names
    ]


def last_name(node: ast.AST) -> str:
    """Return `load` of `tl.load` or `load`, and an empty text of anything else."""
    return getattr(node, "attr", "") or getattr(node, "id", "")


def mentions(function: ast.AST, *names: str) -> bool:
    """Say whether a function uses one of these names, plain or after a dot."""
    return any(last_name(node) in names for node in ast.walk(function))


def draws_tickets(source: Source) -> bool:
    """Say whether the file keeps what an atomic operation returns, such as a program's ticket."""
    return any(
        isinstance(call, ast.Call) and last_name(call.func).startswith("atomic")
        for statement in _nodes(source.functions)
        if isinstance(statement, ast.Assign | ast.Return) and statement.value is not None
        for call in ast.walk(statement.value)
    )


def lines_with(function: ast.AST, *names: str) -> list[int]:
    """Return the lines of a function that use one of these names."""
    return sorted(
        {
            node.lineno
            for node in ast.walk(function)
            if isinstance(node, ast.Name | ast.Attribute) and last_name(node) in names
        }
    )


def is_whole_division(node: ast.AST) -> bool:
    """Say whether an expression rounds a quotient down: `n // B`, `int(n / B)`, not `-(-n // B)`.

    A sum such as `(n + B - 1) // B` rounds up.
    """
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        halved = isinstance(node.right, ast.Constant) and node.right.value == 2
        return not halved and isinstance(
            node.left, ast.Name | ast.Attribute | ast.Subscript | ast.Call
        )
    if isinstance(node, ast.Call) and last_name(node.func) == "int" and len(node.args) == 1:
        [inner] = node.args
        return isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Div)
    return False


def rounded_down(function: ast.AST) -> list[int]:
    """Return the lines of a function on which a quotient of two names is rounded down."""
    negated = {
        id(node.operand) for node in ast.walk(function) if isinstance(node, ast.UnaryOp)
    }  # -(-n // B) rounds up; its inner division has a minus on the left
    return sorted(
        {
            node.lineno
            for node in ast.walk(function)
            if isinstance(node, ast.expr) and is_whole_division(node) and id(node) not in negated
        }
    )


def bare_exponentials(function: ast.AST) -> list[int]:
    """Return the lines of a function with an exponential whose argument is not lowered.

    A minus or a maximum anywhere in the argument, or in the names that it uses, counts as lowering.
    The search stops at loads.
    """
    return sorted(
        {c.lineno for c in calls(function, "exp", "exp2") if not _is_lowered(function, c)}
    )


def _is_lowered(function: ast.AST, call: ast.Call) -> bool:
    waiting: list[ast.AST] = [*call.args]
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Subscript) or last_name(getattr(node, "func", node)) == "load":
            continue
        if isinstance(node, ast.Sub | ast.USub) or last_name(node) in ("max", "maximum", "fmax"):
            return True
        if isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            waiting += assigned(function, node.id)
        waiting += ast.iter_child_nodes(node)
    return False


def assigned(function: ast.AST, name: str) -> list[ast.stmt]:
    """Return the statements of a function that assign to a name, in the order of the text.

    Those that assign to an element of an array of that name count as well.
    """
    found: list[ast.stmt] = []
    for node in ast.walk(function):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For):
            targets = [node.target]
        if any(name in _assigned_names(target) for target in targets):
            assert isinstance(node, ast.stmt)
            found.append(node)
    return sorted(found, key=lambda node: node.lineno)


def _assigned_names(target: ast.expr) -> set[str]:
    """Return the names that a target sets: `a` and `b` of `a, b[i]`, for `i` stays as it is."""
    if isinstance(target, ast.Tuple | ast.List):
        return set().union(*map(_assigned_names, target.elts))
    return {root_of(target.value if isinstance(target, ast.Starred) else target)}


def names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def root_of(node: ast.AST) -> str:
    """Return `torch` of `torch.nn.functional.silu`, and an empty text where no name is first."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def statement_at(function: ast.AST, line: int) -> ast.stmt | None:
    """Return the smallest statement that a line belongs to."""
    inside = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return min(inside, key=lambda n: (n.end_lineno or n.lineno) - n.lineno, default=None)


def computed_at(source: Source, line: int) -> int:
    """Return the line that computes what a line stores, or that line if it does so itself."""
    function = source.around(line)
    if function is None:
        return line
    statement = statement_at(function, line)
    value = stored_value(statement)
    for _ in range(4):
        value = _bare(value)
        if isinstance(value, ast.Name):
            earlier = [s for s in assigned(function, value.id) if s.lineno <= line]
            sums = [s for s in earlier if isinstance(s, ast.AugAssign)]
            if not earlier:
                return line
            chosen = (sums or earlier)[-1]
        elif isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            stores = stores_into(function, value.value.id, line)
            if not stores:
                return line
            chosen = stores[0]
        else:
            return line
        if isinstance(chosen, ast.For) or calls(chosen, "load"):
            return line
        line, value = chosen.lineno, stored_value(chosen)
        if isinstance(chosen, ast.AugAssign):
            return line
    return line


def stored_value(statement: ast.stmt | None) -> ast.expr | None:
    """Return what a statement assigns, stores or adds: of a call, the argument for it."""
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
        return statement.value
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        values = statement.value.args
        return (
            values[-1]
            if last_name(statement.value.func) == "add" and values
            else (values[1] if len(values) > 1 else None)
        )
    return None


def _bare(value: ast.expr | None) -> ast.expr | None:
    """Strip conversions and reductions of one argument: `tl.sum(x, axis=0)`, `y.to(tl.float16)`."""
    while isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr in ("to", "cast"):
            value = value.func.value
        elif last_name(value.func) in ("sum", "max", "float32", "float16", "block_sum", "sum_of"):
            value = value.args[0] if value.args else None
        else:
            break
    return value


def stores_into(function: ast.AST, name: str, before: int) -> list[ast.stmt]:
    """Return the assignments to an array's elements above the line `before`.

    Constants are left out, and so are `+=` and the like: they are steps of a tree reduction.
    """
    return sorted(
        (
            node
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            and node.lineno < before
            and isinstance(node.targets[0], ast.Subscript)
            and root_of(node.targets[0]) == name
            and not isinstance(node.value, ast.Constant)
        ),
        key=lambda node: node.lineno,
    )


def grid_lines(source: Source) -> list[int]:
    """Return the lines that make the grids of the file's launches, and the launches' own."""
    found: list[int] = []
    for host in source.hosts:
        launches = [
            (node.lineno, names_in(node.func.slice))
            for node in ast.walk(host)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)
        ]
        # Each name once, and not too many: each costs a walk through the function.
        names = sorted(set().union(*(used for _, used in launches)))[:MOST_NAMES]
        for name in names:
            found += [s.lineno for s in assigned(host, name)]
            found += _return_lines(source, name)
        found += [line for line, _ in launches]
    return found


def grid_line(source: Source) -> int:
    """Return the line on which the numbers of programs of the file's first launch are, or 0."""
    for host in source.hosts:
        for node in ast.walk(host):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Subscript):
                continue
            names = sorted(names_in(node.func.slice))[:MOST_NAMES]
            for name in names:
                if made := _return_lines(source, name):
                    return made[0]
            for name in names:
                for statement in assigned(host, name):
                    value = getattr(statement, "value", None)
                    if isinstance(value, ast.Tuple | ast.BinOp | ast.Call):
                        return statement.lineno
            return node.lineno
    return 0


def _return_lines(source: Source, name: str) -> list[int]:
    return [
        node.lineno
        for helper in source.hosts
        if helper.name == name
        for node in ast.walk(helper)
        if isinstance(node, ast.Return)
    ]


def parameter_is_unused(source: Source, argument: str) -> bool:
    """Say whether a launch hands an argument to a parameter that its kernel never mentions."""
    kernels = {kernel.name: kernel for kernel in source.kernels}
    for launch in source.launches:
        assert isinstance(launch.func, ast.Subscript)
        kernel = kernels.get(root_of(launch.func))
        if kernel is None or any(isinstance(each, ast.Starred) for each in launch.args):
            continue
        for parameter, given in zip(kernel.args.args, launch.args, strict=False):
            if isinstance(given, ast.Name) and given.id == argument:
                body = ast.Module(body=list(kernel.body), type_ignores=[])
                return parameter.arg not in names_in(body)
    return False
