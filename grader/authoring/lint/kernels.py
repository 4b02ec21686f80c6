"""Rules about kernels and launches: mistakes that a teacher sees often."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from grader.authoring.lint.libraries import libraries
from grader.authoring.lint.records import Level
from grader.authoring.lint.rule import Match, Rule, within
from grader.authoring.lint.source import Function, Source
from grader.model import BlockNames, ThreadNames

Spreads = Callable[[ast.AST, set[str]], bool]  # of an expression, given the names known to


# -- launches


def hidden_errors(source: Source) -> Iterator[Match]:
    for node in source.nodes:
        if isinstance(node, ast.Try) and _launches(source, node.body):
            for handler in node.handlers:
                if not isinstance(handler.body[-1], ast.Raise):
                    yield Match(handler, "This `except`")
        elif isinstance(node, ast.With) and _launches(source, node.body):
            for item in node.items:
                called = item.context_expr
                maker = called.func if isinstance(called, ast.Call) else called
                if "contextlib.suppress" in source.names.paths(maker):
                    yield Match(called, "This `suppress`")


def _launches(source: Source, body: Iterable[ast.stmt]) -> bool:
    return any(
        source.is_launch(node) or source.local(node.func) & source.launching
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
    )


# -- languages of blocks: masks


class _Blocks:
    """The assignments of one kernel in a language of blocks, and its loads and stores."""

    def __init__(self, source: Source, kernel: Function, names: BlockNames) -> None:
        self.source = source
        self.called = names
        self.kernel = kernel
        self.values: dict[str, list[ast.expr]] = {}
        for node in _body(kernel):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value)
            elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value:
                self._assign(node.target, node.value)
            elif isinstance(node, ast.For):
                self._assign(node.target, node.iter)
        self.loads = list(self._calls(names.load))
        self.stores = list(self._calls(names.store))
        self.blocks = _spread(self.values, self._has_lanes)
        self.pointers = _spread(self.values, self._has_pointer)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self.values.setdefault(node.id, []).append(value)

    def paths(self, call: ast.Call) -> frozenset[str]:
        return self.source.names.paths(call.func)

    def _calls(self, name: str) -> Iterator[ast.Call]:
        for node in _body(self.kernel):
            if isinstance(node, ast.Call) and name in self.paths(node) and node.args:
                yield node

    def _has_lanes(self, expression: ast.AST, known: set[str]) -> bool:
        """Whether a value has an element for each lane. What is loaded is data, no offset."""
        waiting = [expression]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Name) and node.id in known:
                return True
            if isinstance(node, ast.Call):
                paths = self.paths(node)
                if self.called.lanes in paths:
                    return True
                if paths & self.called.reductions or self.called.load in paths:
                    continue
            waiting += ast.iter_child_nodes(node)
        return False

    def is_block(self, expression: ast.AST) -> bool:
        return self._has_lanes(expression, self.blocks)

    def names(self, address: ast.expr) -> set[str]:
        """The names in an address, also in what pointers on the way were made from."""
        found, seen = set[str](), set[str]()
        waiting = [address]
        while waiting:
            expression = waiting.pop()
            found |= _names(expression)
            for name in _terms(expression):
                if name in self.pointers and name not in seen:
                    seen.add(name)
                    waiting += self.values[name]
        return found

    def _has_pointer(self, expression: ast.AST, known: set[str]) -> bool:
        """Whether a value is a parameter, or another such value, plus an offset."""
        parameters = {arg.arg for arg in self.kernel.args.args if arg.annotation is None}
        return any(name in known | parameters for name in _terms(expression))

    def bounds(self, mask: ast.AST) -> Iterator[set[str]]:
        """Of each comparison in a mask, the names of the side that has an element a lane."""
        waiting, seen = [mask], set[str]()
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Compare):
                for side in (node.left, *node.comparators):
                    if self.is_block(side) and not self._is_clamped(side):
                        yield _names(side)
                continue
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                waiting += self.values.get(node.id, [])
            waiting += ast.iter_child_nodes(node)

    def _is_clamped(self, expression: ast.AST) -> bool:
        """Whether an offset was kept inside by arithmetic."""
        waiting, seen = [expression], set[str]()
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
                return True
            if isinstance(node, ast.Call) and self.paths(node) & self.called.clamps:
                return True
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                waiting += self.values.get(node.id, [])
            waiting += ast.iter_child_nodes(node)
        return False


def _block_kernels(source: Source) -> Iterator[_Blocks]:
    for library in libraries():
        if library.blocks is not None:
            for kernel in source.kernels(library.kernels):
                yield _Blocks(source, kernel, library.blocks)


def loads_without_mask(source: Source) -> Iterator[Match]:
    """Only where the very offsets of the load are compared with the end for every store."""
    for kernel in _block_kernels(source):
        masks = [_mask(store, 2) for store in kernel.stores if kernel.is_block(store.args[0])]
        if not masks or None in masks:
            continue
        bounds = [names for mask in masks if mask for names in kernel.bounds(mask)]
        for load in kernel.loads:
            guarded = _mask(load, 1) or any(k.arg == "boundary_check" for k in load.keywords)
            if guarded or any(isinstance(a, ast.If | ast.IfExp) for a in source.above(load)):
                continue
            if any(names <= kernel.names(load.args[0]) for names in bounds):
                yield Match(load)


def _mask(call: ast.Call, position: int) -> ast.expr | None:
    named = next((k.value for k in call.keywords if k.arg == "mask"), None)
    return named or (call.args[position] if len(call.args) > position else None)


# -- languages of blocks: 32-bit offsets


def narrow_offsets(source: Source) -> Iterator[Match]:
    for kernel in _block_kernels(source):
        yield from _Widths(kernel).overflowing()


class _Widths:
    """The values of a kernel that are program numbers in 32 bits."""

    def __init__(self, kernel: _Blocks) -> None:
        self.kernel = kernel
        arguments = kernel.kernel.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self.numbers = {arg.arg for arg in parameters if arg.annotation is None}
        self.wide = {arg.arg for arg in parameters if self._is_int64(arg.annotation)}
        self.wide |= _spread(kernel.values, self._is_wide)
        self.narrow = _spread(kernel.values, self._is_narrow)

    def overflowing(self) -> Iterator[Match]:
        """Each product of a program number and a number that is only known at run time, in an
        address."""
        accesses = [*self.kernel.loads, *self.kernel.stores]
        addresses = [call.args[0] for call in accesses]
        needed, waiting = set[str](), list(addresses)
        while waiting:
            expression = waiting.pop()
            for node in _offset_parts(expression, self.kernel):
                if isinstance(node, ast.Name) and node.id not in needed:
                    needed.add(node.id)
                    values = self.kernel.values.get(node.id, [])
                    addresses += values
                    waiting += values
        products: dict[ast.AST, Match] = {}
        for expression in addresses:
            for node in _offset_parts(expression, self.kernel):
                if isinstance(node, ast.BinOp) and self._overflows(node):
                    products[node] = Match(node)
        yield from products.values()

    def _overflows(self, node: ast.BinOp) -> bool:
        if not isinstance(node.op, ast.Mult):
            return False
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(other, ast.Name) and other.id in self.numbers - self.wide:
                return self._is_narrow(one, self.narrow)
        return False

    def _is_int64(self, node: ast.AST | None) -> bool:
        if node is None:
            return False
        if isinstance(node, ast.Constant):
            return node.value in ("int64", "i64", "tl.int64")
        return bool(self.kernel.source.names.paths(node) & self.kernel.called.wide)

    def _is_wide(self, expression: ast.AST, known: set[str]) -> bool:
        if isinstance(expression, ast.Name):
            return expression.id in known | self.wide
        if isinstance(expression, ast.BinOp):
            return self._is_wide(expression.left, known) or self._is_wide(expression.right, known)
        if isinstance(expression, ast.Call):
            given = [*expression.args, *(keyword.value for keyword in expression.keywords)]
            if within_range := self._range(expression):
                return any(self._is_wide(bound, known) for bound in within_range)
            return any(map(self._is_int64, given))
        return False

    def _is_narrow(self, expression: ast.AST, known: set[str]) -> bool:
        if self._is_wide(expression, self.wide):
            return False
        if isinstance(expression, ast.Name):
            return expression.id in known
        if isinstance(expression, ast.BinOp):
            sides = (expression.left, expression.right)
            return any(self._is_narrow(side, known) for side in sides)
        if isinstance(expression, ast.Call):
            if within_range := self._range(expression):
                return any(self._is_narrow(bound, known) for bound in within_range[:1])
            return self.kernel.called.program in self.kernel.paths(expression)
        return False

    def _range(self, call: ast.Call) -> list[ast.expr]:
        """The bounds of a loop over a range, else nothing."""
        return call.args if self.kernel.paths(call) & self.kernel.called.ranges else []


def _offset_parts(expression: ast.AST, kernel: _Blocks) -> Iterator[ast.AST]:
    """The nodes of an address, without those of what is loaded on the way."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        if not (isinstance(node, ast.Call) and kernel.called.load in kernel.paths(node)):
            waiting += ast.iter_child_nodes(node)


# -- languages of threads: barriers


def divergent_barriers(source: Source) -> Iterator[Match]:
    for library in libraries():
        if library.threads is not None:
            yield from _divergent(source, library.kernels, library.threads)


def _divergent(source: Source, made_by: frozenset[str], names: ThreadNames) -> Iterator[Match]:
    def waits(call: ast.Call) -> bool:
        return bool(source.names.paths(call.func) & names.barriers)

    waiting_functions = source.reaching(waits)
    for kernel in source.kernels(made_by):
        threads = _Threads(source, kernel, names)
        returns = [
            node
            for node in _body(kernel)
            if isinstance(node, ast.Return) and threads.differ_at(node)
        ]
        for node in _body(kernel):
            if not isinstance(node, ast.Call):
                continue
            if not (waits(node) or source.local(node.func) & waiting_functions):
                continue
            left = any(one.lineno < node.lineno for one in returns)
            if left or threads.differ_at(node):
                yield Match(node)


class _Threads:
    """The values of one kernel that differ from thread to thread, by arithmetic alone."""

    def __init__(self, source: Source, kernel: Function, names: ThreadNames) -> None:
        self._source = source
        self._kernel = kernel
        self._indices = names.indices
        values: dict[str, list[ast.expr]] = {}
        for node in _body(kernel):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.For):
                value = node.iter if isinstance(node, ast.For) else node.value
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    for name in _targets(target):
                        values.setdefault(name, []).append(value)
        self._names = _spread(values, self._of_thread)

    def _of_thread(self, expression: ast.AST, known: set[str]) -> bool:
        waiting = [expression]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Name) and node.id in known:
                return True
            if any(within(path, self._indices) for path in self._source.names.paths(node)):
                return True
            if isinstance(node, ast.Subscript) or (
                isinstance(node, ast.Call) and self._source.local(node.func)
            ):
                continue
            waiting += ast.iter_child_nodes(node)
        return False

    def differ_at(self, node: ast.AST) -> bool:
        """Return whether only some threads may reach a place of the kernel."""
        below = node
        for around in self._source.above(node):
            if around is self._kernel:
                return False
            condition: ast.AST | None = None
            if isinstance(around, ast.If | ast.While) and below is not around.test:
                condition = around.test
            elif isinstance(around, ast.For) and below in around.body:
                condition = around.iter
            if condition is not None and self._of_thread(condition, self._names):
                return True
            below = around
        return False


def _targets(target: ast.expr) -> Iterator[str]:
    """Yield the names that an assignment binds; elements of arrays are none."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _targets(one)


# -- both


def _body(kernel: Function) -> Iterator[ast.AST]:
    for statement in kernel.body:
        yield from ast.walk(statement)


def _names(expression: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def _terms(expression: ast.AST) -> Iterator[str]:
    """The names that a sum adds up."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            waiting += [node.left, node.right]


def _spread(values: dict[str, list[ast.expr]], has: Spreads) -> set[str]:
    """The names that are assigned something which `has` a trait, be it through other names."""
    known: set[str] = set()
    before = -1
    while before != len(known):
        before = len(known)
        known |= {name for name, assigned in values.items() if any(has(v, known) for v in assigned)}
    return known


RULES = (
    Rule(
        "KG601",
        "hidden-error",
        Level.WARNING,
        "{what} goes on when a launch fails.",
        "A launch that fails leaves the output as it was. Whoever calls sees a wrong answer and "
        "not the error that explains it.",
        "Let the error through: remove the `try`, or end the handler with `raise`.",
        hidden_errors,
    ),
    Rule(
        "KG602",
        "load-without-mask",
        Level.WARNING,
        "This load has no mask, although the stores at the same offsets have one.",
        "In the last block the load reads past the end of the tensor: into other data, or into "
        "memory that does not exist.",
        "Give the load the mask of the store, and `other=` where the lanes left out would count.",
        loads_without_mask,
    ),
    Rule(
        "KG603",
        "narrow-offset",
        Level.WARNING,
        "A program number is multiplied with 32 bits on the way to an address.",
        "`tl.program_id` has 32 bits. From 2,147,483,648 elements on the product wraps around, "
        "and the kernel reads and writes elsewhere.",
        "Widen it first: `tl.program_id(0).to(tl.int64)`.",
        narrow_offsets,
    ),
    Rule(
        "KG604",
        "divergent-barrier",
        Level.WARNING,
        "Some threads of a block wait at this barrier and others never reach it.",
        "`cuda.syncthreads()` waits for all threads of the block. Where some stay away, the "
        "kernel hangs or reads shared memory too early.",
        "Move the barrier out of the condition, so that every thread meets it; keep only the "
        "work under the condition.",
        divergent_barriers,
    ),
)
