"""A rule about masks: loads that have none where the stores have one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.authoring.lint.blocks import block_kernels
from grader.authoring.lint.records import Level
from grader.authoring.lint.rule import Match, Rule
from grader.authoring.lint.source import Source


def loads_without_mask(source: Source) -> Iterator[Match]:
    """Find loads without a mask where every store has one that bounds the load's offsets."""
    for kernel in block_kernels(source):
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


RULES = (
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
)
