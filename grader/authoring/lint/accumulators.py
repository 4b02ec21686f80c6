"""A rule about accumulators: those that begin as a number of 64 bits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.authoring.lint.libraries import libraries
from grader.authoring.lint.records import Level
from grader.authoring.lint.rule import Match, Rule
from grader.authoring.lint.source import Function, Source
from grader.authoring.lint.values import body_of, names_in


def wide_accumulators(source: Source) -> Iterator[Match]:
    for library in libraries():
        if library.threads is not None and library.threads.wide_literals:
            for kernel in source.kernels(library.kernels):
                yield from _begun_wide(kernel)


def _begun_wide(kernel: Function) -> Iterator[Match]:
    """Yield each `total = 0.0` whose name a loop of the kernel carries on."""
    carried = set(_carried(kernel))
    for node in body_of(kernel):
        if isinstance(node, ast.Assign) and _is_float(node.value):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id in carried:
                    yield Match(node, f"`{target.id}`")


def _carried(kernel: Function) -> Iterator[str]:
    for loop in body_of(kernel):
        if not isinstance(loop, ast.For | ast.While):
            continue
        for node in ast.walk(loop):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                yield node.target.id
            elif isinstance(node, ast.Assign):
                used = names_in(node.value)
                yield from (t.id for t in node.targets if isinstance(t, ast.Name) and t.id in used)


def _is_float(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp):
        return _is_float(value.operand)
    return isinstance(value, ast.Constant) and isinstance(value.value, float)


RULES = (
    Rule(
        "KG605",
        "wide-accumulator",
        Level.NOTE,
        "{what} begins as a bare number, which has 64 bits, and a loop carries it on.",
        "The type of a variable is the widest that it ever has: each step of the loop is computed "
        "in 64 bits, which most GPUs do many times slower than in 32.",
        "Begin with `float32(0.0)`.",
        wide_accumulators,
        taught=True,
    ),
)
