"""A rule about barriers: those that only some threads of a block reach."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.authoring.lint.libraries import libraries
from grader.authoring.lint.records import Level
from grader.authoring.lint.rule import Match, Rule, within
from grader.authoring.lint.source import Function, Source
from grader.authoring.lint.values import body_of, spread
from grader.model import ThreadNames


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
            for node in body_of(kernel)
            if isinstance(node, ast.Return) and threads.differ_at(node)
        ]
        for node in body_of(kernel):
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
        for node in body_of(kernel):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.For):
                value = node.iter if isinstance(node, ast.For) else node.value
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    for name in _targets(target):
                        values.setdefault(name, []).append(value)
        self._names = spread(values, self._of_thread)

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
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _targets(one)


RULES = (
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
