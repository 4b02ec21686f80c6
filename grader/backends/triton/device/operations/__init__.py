"""The operations that the device executes: each module here adds those of one family.

The folder is the registration. An operation is a function of the record, the values of its operands
and the programs that execute it:

    @operation("arith.addi")
    def addi(op: Operation, operands: Operands, run: Run) -> Value: ...

It returns the value of its result: a tuple if it has several results, and None if it has no result.
A Fault that it raises gets the place of the operation.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from torch import Tensor

from grader.backends.triton.device.faults import NotSimulated
from grader.backends.triton.device.ttir.records import Operation
from grader.backends.triton.device.values import Value

if TYPE_CHECKING:
    from grader.backends.triton.device.run import Run

Operands = list[Tensor]
Results = Value | tuple[Value, ...] | None
# Operands are tensors but for the few operations that take a descriptor; a constant needs no run.
Execute = Callable[[Operation, Any, Any], Results]

_FUNCTIONS: dict[str, Execute] = {}


def operation(*names: str) -> Callable[[Execute], Execute]:
    """Register the function that executes the operations of these names."""

    def register(function: Execute) -> Execute:
        for name in names:
            if name in _FUNCTIONS:
                raise ValueError(f"two functions execute {name}")
            _FUNCTIONS[name] = function
        return function

    return register


def find(name: str) -> Execute:
    """Return the function that executes an operation; for an unknown one, one that refuses."""
    return _registered().get(name, _missing)


def names() -> frozenset[str]:
    """Return the names of all operations that have a function."""
    return frozenset(_registered())


@cache
def _registered() -> dict[str, Execute]:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return _FUNCTIONS


def _missing(op: Operation, operands: Operands, run: Run) -> Results:
    raise NotSimulated(op.name)
