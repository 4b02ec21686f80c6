"""The loads and stores of a kernel whose values are blocks, and the names in their addresses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.authoring.lint.libraries import libraries
from grader.authoring.lint.source import Function, Source
from grader.authoring.lint.values import body_of, names_in, spread, terms
from grader.model import BlockNames


class Blocks:
    """The assignments of one kernel in a language of blocks, and its loads and stores."""

    def __init__(self, source: Source, kernel: Function, names: BlockNames) -> None:
        self.source = source
        self.called = names
        self.kernel = kernel
        self.values: dict[str, list[ast.expr]] = {}
        for node in body_of(kernel):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value)
            elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value:
                self._assign(node.target, node.value)
            elif isinstance(node, ast.For):
                self._assign(node.target, node.iter)
        self.loads = list(self._calls(names.load))
        self.stores = list(self._calls(names.store))
        self.blocks = spread(self.values, self._has_lanes)
        self.pointers = spread(self.values, self._has_pointer)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self.values.setdefault(node.id, []).append(value)

    def paths(self, call: ast.Call) -> frozenset[str]:
        return self.source.names.paths(call.func)

    def _calls(self, name: str) -> Iterator[ast.Call]:
        for node in body_of(self.kernel):
            if isinstance(node, ast.Call) and name in self.paths(node) and node.args:
                yield node

    def _has_lanes(self, expression: ast.AST, known: set[str]) -> bool:
        """Return whether a value has an element for each lane. Loaded values are not offsets."""
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
        """Return the names in an address, and in the values of its pointers."""
        found, seen = set[str](), set[str]()
        waiting = [address]
        while waiting:
            expression = waiting.pop()
            found |= names_in(expression)
            for name in terms(expression):
                if name in self.pointers and name not in seen:
                    seen.add(name)
                    waiting += self.values[name]
        return found

    def _has_pointer(self, expression: ast.AST, known: set[str]) -> bool:
        """Return whether a value is a parameter, or another such value, plus an offset."""
        parameters = {arg.arg for arg in self.kernel.args.args if arg.annotation is None}
        return any(name in known | parameters for name in terms(expression))

    def bounds(self, mask: ast.AST) -> Iterator[set[str]]:
        """Yield, for each comparison in a mask, the names of the side with an element per lane."""
        waiting, seen = [mask], set[str]()
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Compare):
                for side in (node.left, *node.comparators):
                    if self.is_block(side) and not self._is_clamped(side):
                        yield names_in(side)
                continue
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                waiting += self.values.get(node.id, [])
            waiting += ast.iter_child_nodes(node)

    def _is_clamped(self, expression: ast.AST) -> bool:
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


def block_kernels(source: Source) -> Iterator[Blocks]:
    for library in libraries():
        if library.blocks is not None:
            for kernel in source.kernels(library.kernels):
                yield Blocks(source, kernel, library.blocks)
