"""A rule about offsets: products that may need more than 32 bits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.authoring.lint.blocks import Blocks, block_kernels
from grader.authoring.lint.records import Level
from grader.authoring.lint.rule import Match, Rule
from grader.authoring.lint.source import Source
from grader.authoring.lint.values import spread


def narrow_offsets(source: Source) -> Iterator[Match]:
    for kernel in block_kernels(source):
        yield from _Widths(kernel).overflowing()


class _Widths:
    """The names in a kernel that have 64 bits, and those computed from 32-bit program numbers."""

    def __init__(self, kernel: Blocks) -> None:
        self.kernel = kernel
        arguments = kernel.kernel.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self.numbers = {arg.arg for arg in parameters if arg.annotation is None}
        self.wide = {arg.arg for arg in parameters if self._is_int64(arg.annotation)}
        self.wide |= spread(kernel.values, self._is_wide)
        self.narrow = spread(kernel.values, self._is_narrow)

    def overflowing(self) -> Iterator[Match]:
        """Yield each address's 32-bit product of a program number and an unannotated argument."""
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
        return call.args if self.kernel.paths(call) & self.kernel.called.ranges else []


def _offset_parts(expression: ast.AST, kernel: Blocks) -> Iterator[ast.AST]:
    """Yield the nodes of an address, without those of values that it loads."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        if not (isinstance(node, ast.Call) and kernel.called.load in kernel.paths(node)):
            waiting += ast.iter_child_nodes(node)


RULES = (
    Rule(
        "KG603",
        "narrow-offset",
        Level.WARNING,
        "A program number is multiplied with 32 bits by an argument, on the way to an address.",
        "`tl.program_id` has 32 bits. From 2,147,483,648 elements on the product wraps around, "
        "and the kernel reads and writes elsewhere.",
        "Widen it first: `tl.program_id(0).to(tl.int64)`.",
        narrow_offsets,
        taught=True,
    ),
)
