"""Offsets that left the bits of their type on the way to an address.

Where a sum, difference, product or cast wraps around, its exact value is computed beside it, in 64
bits, and followed to the address. Only the operations that an address may be made of are watched.
A hash wraps around on purpose, but ends with a shift, a mask or a remainder: those forget the exact
value, and so does an unsigned widening.

An access at a wrapped address is a fault in bounds, too: a GPU uses the same wrong element.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from grader.backends.triton.device.ttir.records import Function, Module, Operation, Region

if TYPE_CHECKING:
    from grader.backends.triton.device.run import Run
    from grader.backends.triton.device.sums import Sum

Interval = tuple[int, int]
Execute = Callable[[Operation, Any, Any], Any]

_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "arith.addi": operator.add,
    "arith.muli": operator.mul,
    "arith.subi": operator.sub,
    "arith.trunci": lambda value: value,
}
# These give exact values what they give the values themselves.
_FOLLOWED = frozenset(
    {
        "arith.extsi",
        "arith.select",
        "tt.addptr",
        "tt.broadcast",
        "tt.expand_dims",
        "tt.reshape",
        "tt.splat",
        "tt.trans",
    }
)
_NARROW = frozenset({"i8", "i16", "i32"})


@dataclass(frozen=True)
class Cause:
    """The operation of a module that wrapped around, and one result that it should have had."""

    operation: Operation
    number: int
    module: Module

    @property
    def bits(self) -> int:
        return int(self.operation.result_types[0].element[1:])


@dataclass(frozen=True)
class Exact:
    """The values (int64) that offsets or addresses would have, had nothing wrapped around."""

    values: Tensor
    cause: Cause


def exact_of(value: Tensor | Sum) -> Exact | None:
    """Return what a value should be, where it differs."""
    exact: Exact | None = vars(value).get("exact")
    return exact


def carried(source: Tensor, result: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """Return `result`, which is `function(source)`, with the exact values of that."""
    exact = exact_of(source)
    if exact is not None:
        vars(result)["exact"] = Exact(function(exact.values), exact.cause)
    return result


def bounds(value: Tensor | Sum) -> Interval:
    """Return bounds of all elements."""
    known: Interval | None = vars(value).get("interval")
    if known is None:
        assert isinstance(value, Tensor)
        if value.numel() < 2:
            number = int(value.item()) if value.numel() else 0
            known = number, number
        else:
            low, high = value.aminmax()
            known = int(low), int(high)
        vars(value)["interval"] = known
    return known


def offsets(module: Module) -> frozenset[str]:
    """Return the names of all values that an address may be made of, and maybe more."""
    made_of: dict[str, set[str]] = defaultdict(set)
    waiting: list[str] = []
    for function in module.functions.values():
        for op in function.body.operations():
            if op.name == "tt.addptr":
                waiting += op.operands
            if op.name in _FOLLOWED or op.name in _ARITHMETIC:
                for name in op.results:
                    made_of[name].update(op.operands)
        for group in (*_groups(function.body), *_handed(module, function)):
            # What is carried around a loop, or handed to another block, may be any of the group.
            for name in group:
                made_of[name] |= group
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += made_of[name]
    return frozenset(found)


def watched(op: Operation, function: Execute, names: frozenset[str]) -> Execute:
    """Return the function of an operation, or one that also watches if an offset wraps around."""
    if names.isdisjoint(op.results) and op.name != "tt.addptr":
        return function
    if op.name in _ARITHMETIC and op.result_types[0].element in _NARROW:
        return _watching(function, _ARITHMETIC[op.name])
    if op.name in _FOLLOWED or op.name in _ARITHMETIC:
        return _following(function)
    return function


def _watching(function: Execute, exactly: Callable[..., Any]) -> Execute:
    def execute(op: Operation, operands: list[Tensor], run: Run) -> Tensor:
        result: Tensor = function(op, operands, run)
        limits = torch.iinfo(result.dtype)
        exact = next(filter(None, map(exact_of, operands)), None)
        low, high = _interval(op, operands, exactly)
        if exact is None and limits.min <= low and high <= limits.max:
            vars(result)["interval"] = low, high
            return result
        values = exactly(*map(_exact_values, operands))
        wrong = values != result
        if wrong.any():
            number = int(values[wrong][0])
            cause = Cause(op, number, run.launch.program.module) if exact is None else exact.cause
            vars(result)["exact"] = Exact(values, cause)
        return result

    return execute


def _following(function: Execute) -> Execute:
    def execute(op: Operation, operands: list[Tensor], run: Run) -> Tensor:
        result: Tensor = function(op, operands, run)
        exact = next(filter(None, map(exact_of, operands)), None)
        if exact is not None:
            values = [_exact_values(each) for each in operands]
            right = values[0] if op.name == "arith.extsi" else function(op, values, run)
            vars(result)["exact"] = Exact(right, exact.cause)
        elif len(operands) == 1 and "interval" in vars(operands[0]):
            vars(result)["interval"] = vars(operands[0])["interval"]
        return result

    return execute


def _exact_values(value: Tensor) -> Tensor:
    exact = exact_of(value)
    if exact is not None:
        return exact.values
    return value if value.dtype == torch.bool else value.to(torch.int64)


def _interval(op: Operation, operands: list[Tensor], exactly: Callable[..., Any]) -> Interval:
    """Return bounds of a result; exact arithmetic on the bounds of operands costs little."""
    first, *rest = map(bounds, operands)
    if not rest:
        return first
    [second] = rest
    if op.name == "arith.addi":
        return first[0] + second[0], first[1] + second[1]
    corners = [exactly(a, b) for a in first for b in second]
    return min(corners), max(corners)


def _handed(module: Module, function: Function) -> Iterator[set[str]]:
    """Yield for each call in a function the names that it hands over, and takes back."""
    for op in function.body.operations():
        callee = module.functions.get(str(op.attributes.get("callee")))
        if op.name == "tt.call" and callee is not None:
            ends = (each.operations[-1] for each in callee.body.blocks)
            returned = {name for end in ends for name in end.operands}
            yield {*op.results, *op.operands, *(name for name, _ in callee.arguments), *returned}


def _groups(region: Region) -> Iterator[set[str]]:
    """Yield the names that hand values to each other: through loops, branches and other blocks."""
    if len(region.blocks) > 1:
        handed = {name for block in region.blocks for name, _ in block.arguments}
        for block in region.blocks:
            for _, operands in block.operations[-1].successors:
                handed.update(operands)
        yield handed
    for op in (op for block in region.blocks for op in block.operations if op.regions):
        inside = [block for inner in op.regions for block in inner.blocks]
        taken = {name for block in inside for name, _ in block.arguments}
        left = {name for block in inside for name in block.operations[-1].operands}
        yield {*op.results, *op.operands, *taken, *left}
        for inner in op.regions:
            yield from _groups(inner)
