"""Arithmetic in the learner's words: `row * stride`, with the names that the kernel file has."""

from __future__ import annotations

import re
from collections.abc import Mapping

from grader.backends.triton.device.sites import Source
from grader.backends.triton.device.ttir.records import Dense, Operation, Site
from grader.backends.triton.device.wide_indices import Cause

_SYMBOLS = {"arith.addi": "+", "arith.muli": "*", "arith.subi": "-"}
_SAME = frozenset(
    {
        "arith.extsi",
        "arith.extui",
        "arith.trunci",
        "tt.broadcast",
        "tt.expand_dims",
        "tt.reshape",
        "tt.splat",
    }
)
MOST_OPERATIONS = 8  # in one expression; a longer one is hard to read

# Triton numbers a name that it uses again; `arg3` and `12` stand for values without one.
_NUMBERED = re.compile(r"_\d+$")
_UNNAMED = re.compile(r"(arg)?\d+")


def explain(cause: Cause, source: Source) -> str:
    """Explain which offset is too large for its type."""
    text = Words(cause).of(cause.operation)
    number = f"{cause.number:,}"
    return (
        f"an offset computed in {source.quoted(cause.operation.site)} left {cause.bits} bits "
        f"({f'{text} = {number}' if text else f'it should be {number}'})"
    )


class Words:
    """The arithmetic of one function: that in which an offset wrapped around."""

    def __init__(self, cause: Cause) -> None:
        self._arguments: frozenset[str] = frozenset()
        self._operations: Mapping[str, Operation] = {}
        for function in cause.module.functions.values():
            operations = list(function.body.operations())
            if any(op is cause.operation for op in operations):
                self._operations = {name: op for op in operations for name in op.results}
                self._arguments = frozenset(name for name, _ in function.arguments)
        self._left = MOST_OPERATIONS

    def of(self, op: Operation) -> str:
        """Write the arithmetic of one operation; empty where a value has no name in the file."""
        self._left -= 1
        if op.name not in _SYMBOLS:
            return self._value(op.operands[0], op.site)
        symbol = _SYMBOLS[op.name]
        first, second = (self._value(name, op.site, symbol) for name in op.operands)
        return f"{first} {symbol} {second}" if first and second else ""

    def _value(self, name: str, site: Site, symbol: str = "") -> str:
        op = self._operations.get(name)
        if op is None:
            return self._outside(name)
        if op.name in _SAME:
            return self._value(op.operands[0], site, symbol)
        if op.name == "arith.constant":
            return _number(op)
        if op.site.name and op.site.name != site.name:
            return op.site.name
        if op.name == "tt.get_program_id":
            return f"tl.program_id({op.attributes['axis']})"
        if op.name in _SYMBOLS and self._left > 0:
            inner = self.of(op)
            bare = symbol in ("", "+") or _SYMBOLS[op.name] == "*"
            return inner if bare or not inner else f"({inner})"
        return ""

    def _outside(self, name: str) -> str:
        """Return the name of a parameter, or of what a loop carries."""
        if name in self._arguments:
            return name
        return "" if _UNNAMED.fullmatch(name) else _NUMBERED.sub("", name)


def _number(op: Operation) -> str:
    value = op.attributes["value"]
    if isinstance(value, Dense):
        value = value.elements[0] if len(value.elements) == 1 else ""
    return str(value)
