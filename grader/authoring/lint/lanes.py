"""A rule about lanes: programs that take one element each, in a language of blocks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.authoring.lint.blocks import block_kernels
from grader.authoring.lint.records import Level
from grader.authoring.lint.rule import Match, Rule
from grader.authoring.lint.source import Source
from grader.authoring.lint.values import body_of

BUILTINS = {"range", "min", "max", "float", "int", "abs"}


def single_elements(source: Source) -> Iterator[Match]:
    """Find numbers of programs in kernels that make no block, by themselves or by a helper."""
    for kernel in block_kernels(source):
        called = [node for node in body_of(kernel.kernel) if isinstance(node, ast.Call)]
        numbers = [call for call in called if kernel.called.program in kernel.paths(call)]
        if (
            numbers
            and kernel.loads
            and kernel.stores
            and not any(
                kernel.called.lanes in kernel.paths(call) or _may_make_a_block(call)
                for call in called
            )
        ):
            yield Match(min(numbers, key=lambda call: call.lineno), f"`{kernel.kernel.name}`")


def _may_make_a_block(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id not in BUILTINS
    return isinstance(call.func, ast.Attribute) and call.func.attr.startswith("make_")


RULES = (
    Rule(
        "KG606",
        "one-element-programs",
        Level.NOTE,
        "{what} makes no block: a program takes one element at a time.",
        "A program is a group of threads, 32 or more. With one element at a time they all do the "
        "same, and most of the GPU has nothing to do.",
        "Take a block: `program * BLOCK + tl.arange(0, BLOCK)`, and a mask for the last one.",
        single_elements,
        taught=True,
    ),
)
