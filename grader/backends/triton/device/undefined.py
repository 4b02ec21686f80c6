"""Undefined values, passed on by operations that would drop a NaN.

`tl.maximum` takes the number where the other operand is NaN. For a NaN of the inputs that is right.
One that stands for an undefined value would vanish, and with it the fault: on a GPU such a lane
holds a number. So what is computed from an undefined float is undefined, by the same bits.
Of two branches, an undefined one is dropped only by a condition that is defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grader.backends.triton.device.integers import OF_SIZE
from grader.backends.triton.device.mappings import Bits
from grader.backends.triton.device.ttir.records import Operation
from grader.backends.triton.undefined import NAN, SPARE

if TYPE_CHECKING:
    from grader.backends.triton.device.run import Run

Execute = Callable[[Operation, Any, Any], Any]

# A processor passes on the bits of a NaN in 32 and 64 bits.
_PASSED_ON = frozenset(
    {"arith.addf", "arith.divf", "arith.mulf", "arith.subf", "math.exp", "math.exp2"}
)
_ELEMENTWISE = frozenset({"tt.clampf", "tt.extern_elementwise", "tt.fp_to_fp"})
_ELEMENTWISE_DIALECTS = ("arith.", "math.", "tt.precise_")
_PRODUCTS = frozenset({"tt.dot", "tt.dot_scaled"})
# An operand that decides the result alone, whatever the other one is.
_DECISIVE = {"arith.andi": False, "arith.ori": True, "arith.xori": None}


def numbers_of(value: Tensor, highest: int) -> Tensor | None:
    """Return for each element the number of the load that left it undefined, or 0.

    Numbers are given up to `highest`. Return None if all elements are defined.
    """
    if not highest or value.dtype not in NAN or not value.numel():
        return None
    known = vars(value)
    if "numbers" not in known:
        known["numbers"] = _numbers(value, highest)
    numbers: Tensor | None = known["numbers"]
    return numbers


def numbered(result: Tensor, numbers: Tensor | None) -> Tensor:
    """Return a result that is undefined wherever a number is not 0."""
    if numbers is None or result.dtype not in NAN:
        return result
    nan, place = NAN[result.dtype]
    bits = nan | numbers.to(OF_SIZE[result.dtype.itemsize]) << place
    return torch.where(numbers > 0, bits.view(result.dtype), result)


def float_like(dtype: torch.dtype) -> torch.dtype:
    """Return the float whose bits an integer may hold; of any other dtype, itself."""
    return {torch.int32: torch.float32, torch.int64: torch.float64}.get(dtype, dtype)


def among_bits(bits: Bits, dtype: torch.dtype, highest: int) -> NDArray[np.bool_]:
    """Say which elements of an array in memory are undefined."""
    value = torch.from_numpy(bits).view(float_like(dtype))
    numbers = numbers_of(value, highest)
    return np.zeros(bits.shape, np.bool_) if numbers is None else (numbers > 0).numpy()


def followed(op: Operation, function: Execute) -> Execute:
    """Return the function of an operation, or one that also passes undefined floats on."""
    if op.name in _PRODUCTS:
        return _following(function, _of_product)
    if op.name == "arith.cmpf":
        return _comparing(function)
    if op.name == "arith.select":
        return _selecting(function)
    if op.name in _DECISIVE and op.result_types[0].element == "i1":
        return _deciding(function, _DECISIVE[op.name])
    if op.name in _ELEMENTWISE or op.name.startswith(_ELEMENTWISE_DIALECTS):
        narrow = op.result_types[0].element in ("f16", "bf16")
        if op.result_types[0].element[0] in "bf" and (narrow or op.name not in _PASSED_ON):
            return _following(function, _of_elements)
    return function


def _numbers(value: Tensor, highest: int) -> Tensor | None:
    if not bool(value.amax().isnan()):  # many times faster than a look at each element
        return None
    nan, place = NAN[value.dtype]
    integer = OF_SIZE[value.dtype.itemsize]
    bits = value.view(integer) & torch.iinfo(integer).max  # of either sign
    numbers = bits >> place & SPARE
    undefined = (bits & ~(SPARE << place) == nan) & (numbers > 0) & (numbers <= highest)
    if not bool(undefined.any()):
        return None
    return torch.where(undefined, numbers, 0).to(torch.int8)


def _highest(numbers: Iterable[Tensor | None]) -> Tensor | None:
    found: Tensor | None = None
    for each in numbers:
        if each is not None:
            found = each if found is None else torch.maximum(found, each)
    return found


def _of_elements(operands: list[Tensor], highest: int) -> Tensor | None:
    return _highest(numbers_of(each, highest) for each in operands)


def _of_product(operands: list[Tensor], highest: int) -> Tensor | None:
    """Return for each element of a @ b + c the highest number of a load that reaches it."""
    a, b, c = (numbers_of(each, highest) for each in operands[:3])
    return _highest(
        (
            None if a is None else a.amax(-1, keepdim=True),
            None if b is None else b.amax(-2, keepdim=True),
            c,
        )
    )


def _following(
    function: Execute, numbers_for: Callable[[list[Tensor], int], Tensor | None]
) -> Execute:
    def execute(op: Operation, operands: list[Tensor], run: Run) -> Tensor:
        result: Tensor = function(op, operands, run)
        highest = run.memory.undefined_loads
        return numbered(result, numbers_for(operands, highest)) if highest else result

    return execute


def _comparing(function: Execute) -> Execute:
    def execute(op: Operation, operands: list[Tensor], run: Run) -> Tensor:
        result: Tensor = function(op, operands, run)
        numbers = _of_elements(operands, run.memory.undefined_loads)
        if numbers is not None:
            vars(result)["undecided"] = numbers > 0
        return result

    return execute


def _deciding(function: Execute, decisive: bool | None) -> Execute:
    """Follow conditions: `False & x` is False, whatever x is."""

    def execute(op: Operation, operands: list[Tensor], run: Run) -> Tensor:
        result: Tensor = function(op, operands, run)
        a, b = operands
        if _undecided(a) is None and _undecided(b) is None:
            return result
        undecided = [
            torch.zeros_like(each) if (found := _undecided(each)) is None else found
            for each in operands
        ]
        either = undecided[0] | undecided[1]
        for each, open_ in zip(operands, undecided, strict=True):
            if decisive is not None:
                either = either & (open_ | (each != decisive))
        vars(result)["undecided"] = either
        return result

    return execute


def _undecided(condition: Tensor) -> Tensor | None:
    undecided: Tensor | None = vars(condition).get("undecided")
    return undecided


def _selecting(function: Execute) -> Execute:
    def execute(op: Operation, operands: list[Tensor], run: Run) -> Tensor:
        result: Tensor = function(op, operands, run)
        condition, *branches = operands
        undecided = _undecided(condition)
        if undecided is None:
            return result
        numbers = _of_elements(branches, run.memory.undefined_loads)
        if numbers is None:
            return result
        if undecided.dim() < numbers.dim():  # one condition for a whole tensor
            undecided = undecided.reshape(-1, *[1] * (numbers.dim() - 1))
        return numbered(result, torch.where(undecided, numbers, 0))

    return execute
