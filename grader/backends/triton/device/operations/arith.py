"""The dialect `arith`: arithmetic, comparisons and casts, element by element."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.backends.triton.device import integers, rounding
from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.operations import Operands, operation
from grader.backends.triton.device.run import Run
from grader.backends.triton.device.ttir.records import Operation
from grader.backends.triton.device.values import dtype_of

Binary = Callable[[Tensor, Tensor], Tensor]


def _binary(name: str, function: Binary, of_bools: Binary | None = None) -> None:
    """Register an operation of two operands; `of_bools` is the function for i1, if it differs."""

    @operation(name)
    def execute(op: Operation, operands: Operands, run: Run) -> Tensor:
        a, b = operands
        if of_bools is not None and a.dtype == torch.bool:
            return of_bools(a, b)
        return function(a, b)


_binary("arith.addi", torch.add, torch.logical_xor)
_binary("arith.subi", torch.sub, torch.logical_xor)
_binary("arith.muli", torch.mul, torch.logical_and)
_binary("arith.andi", torch.bitwise_and)
_binary("arith.ori", torch.bitwise_or)
_binary("arith.xori", torch.bitwise_xor)
_binary("arith.divsi", integers.divide)
_binary("arith.remsi", integers.remainder)
_binary("arith.divui", integers.divide_unsigned)
_binary("arith.remui", integers.remainder_unsigned)
# Of i1 the larger signed number is 0, the smaller -1.
_binary("arith.maxsi", torch.maximum, torch.logical_and)
_binary("arith.minsi", torch.minimum, torch.logical_or)
# torch shifts by the width or more, and by a negative amount, as PTX does.
_binary("arith.shli", torch.bitwise_left_shift)
_binary("arith.shrsi", torch.bitwise_right_shift)
_binary("arith.shrui", integers.shift_right_unsigned)
_binary("tt.mulhiui", integers.high_product_unsigned)


@operation("arith.maxui")
def maxui(op: Operation, operands: Operands, run: Run) -> Tensor:
    return integers.ordered(torch.maximum(*map(integers.ordered, operands)))


@operation("arith.minui")
def minui(op: Operation, operands: Operands, run: Run) -> Tensor:
    return integers.ordered(torch.minimum(*map(integers.ordered, operands)))


@operation("arith.floordivsi")
def floordivsi(op: Operation, operands: Operands, run: Run) -> Tensor:
    a, b = operands
    quotient, rest = integers.divide(a, b), integers.remainder(a, b)
    return quotient - ((rest != 0) & ((rest < 0) != (b < 0))).to(a.dtype)


@operation("arith.ceildivsi")
def ceildivsi(op: Operation, operands: Operands, run: Run) -> Tensor:
    a, b = operands
    quotient, rest = integers.divide(a, b), integers.remainder(a, b)
    return quotient + ((rest != 0) & ((rest < 0) == (b < 0))).to(a.dtype)


@operation("arith.ceildivui")
def ceildivui(op: Operation, operands: Operands, run: Run) -> Tensor:
    a, b = operands
    rest = integers.remainder_unsigned(a, b)
    return integers.divide_unsigned(a, b) + (rest != 0).to(a.dtype)


@operation("arith.addui_extended")
def addui_extended(op: Operation, operands: Operands, run: Run) -> tuple[Tensor, Tensor]:
    a, b = operands
    total = a + b
    return total, integers.ordered(total) < integers.ordered(a)


@operation("arith.mulsi_extended")
def mulsi_extended(op: Operation, operands: Operands, run: Run) -> tuple[Tensor, Tensor]:
    a, b = operands
    return a * b, integers.high_product_signed(a, b)


@operation("arith.mului_extended")
def mului_extended(op: Operation, operands: Operands, run: Run) -> tuple[Tensor, Tensor]:
    a, b = operands
    return a * b, integers.high_product_unsigned(a, b)


def _floats(name: str, function: Binary) -> None:
    """Register an operation of two floats, which rounds to the type of the result."""

    @operation(name)
    def execute(op: Operation, operands: Operands, run: Run) -> Tensor:
        a, b = operands
        if a.dtype.itemsize == 1:
            return rounding.to_float(function(a.float(), b.float()), a.dtype)
        return function(a, b)


_floats("arith.addf", torch.add)
_floats("arith.subf", torch.sub)
_floats("arith.mulf", torch.mul)
_floats("arith.divf", torch.div)
_floats("arith.remf", torch.fmod)
# A NaN gives way to a number ...
_floats("arith.maxnumf", torch.fmax)
_floats("arith.minnumf", torch.fmin)
# ... or spreads.
_floats("arith.maximumf", torch.maximum)
_floats("arith.minimumf", torch.minimum)


@operation("arith.negf")
def negf(op: Operation, operands: Operands, run: Run) -> Tensor:
    return -operands[0]


_COMPARE: dict[str, Binary] = {
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
}


@operation("arith.cmpi")
def cmpi(op: Operation, operands: Operands, run: Run) -> Tensor:
    predicate = str(op.attributes["predicate"])
    a, b = operands
    if predicate in ("eq", "ne"):
        return _COMPARE[predicate](a, b)
    prepared = integers.ordered if predicate[0] == "u" else integers.signed
    return _COMPARE[predicate[1:]](prepared(a), prepared(b))


def _unordered(a: Tensor, b: Tensor) -> Tensor:
    return torch.isnan(a) | torch.isnan(b)


_COMPARE_FLOATS: dict[str, Binary] = {
    "oeq": torch.eq,
    "ogt": torch.gt,
    "oge": torch.ge,
    "olt": torch.lt,
    "ole": torch.le,
    "one": lambda a, b: (a < b) | (a > b),
    "ord": lambda a, b: ~_unordered(a, b),
    "ueq": lambda a, b: ~((a < b) | (a > b)),
    "ugt": lambda a, b: ~(a <= b),
    "uge": lambda a, b: ~(a < b),
    "ult": lambda a, b: ~(a >= b),
    "ule": lambda a, b: ~(a > b),
    "une": torch.ne,
    "uno": _unordered,
    "false": lambda a, b: torch.zeros_like(a == b),
    "true": lambda a, b: torch.ones_like(a == b),
}


@operation("arith.cmpf")
def cmpf(op: Operation, operands: Operands, run: Run) -> Tensor:
    a, b = operands
    if a.dtype.itemsize == 1:
        a, b = a.float(), b.float()
    return _COMPARE_FLOATS[str(op.attributes["predicate"])](a, b)


@operation("arith.select")
def select(op: Operation, operands: Operands, run: Run) -> Tensor:
    condition, a, b = operands
    if condition.dim() < a.dim():  # one condition for a whole tensor
        condition = condition.reshape(-1, *[1] * (a.dim() - 1))
    return torch.where(condition, a, b)


@operation("arith.extsi")
def extsi(op: Operation, operands: Operands, run: Run) -> Tensor:
    return integers.signed(operands[0]).to(dtype_of(op.result_types[0]))


@operation("arith.extui", "arith.index_castui")
def extui(op: Operation, operands: Operands, run: Run) -> Tensor:
    return integers.widened(operands[0]).to(dtype_of(op.result_types[0]))


@operation("arith.trunci", "arith.index_cast")
def trunci(op: Operation, operands: Operands, run: Run) -> Tensor:
    dtype = dtype_of(op.result_types[0])
    [value] = operands
    return (value & 1).to(torch.bool) if dtype == torch.bool else value.to(dtype)


@operation("arith.extf")
def extf(op: Operation, operands: Operands, run: Run) -> Tensor:
    return operands[0].to(dtype_of(op.result_types[0]))


@operation("arith.truncf")
def truncf(op: Operation, operands: Operands, run: Run) -> Tensor:
    mode = str(op.attributes.get("roundingmode", "to_nearest_even"))
    if mode not in ("to_nearest_even", "toward_zero"):
        raise Malformed(f"arith.truncf rounds {mode}")
    to = dtype_of(op.result_types[0])
    return rounding.to_float(operands[0], to, towards_zero=mode == "toward_zero")


@operation("tt.fp_to_fp")
def fp_to_fp(op: Operation, operands: Operands, run: Run) -> Tensor:
    to = dtype_of(op.result_types[0])
    towards_zero = op.attributes.get("rounding") == "rtz"
    return rounding.to_float(operands[0], to, towards_zero=towards_zero)


@operation("arith.sitofp")
def sitofp(op: Operation, operands: Operands, run: Run) -> Tensor:
    return integers.signed(operands[0]).to(dtype_of(op.result_types[0]))


@operation("arith.uitofp")
def uitofp(op: Operation, operands: Operands, run: Run) -> Tensor:
    return integers.unsigned_to_float(operands[0], dtype_of(op.result_types[0]))


@operation("arith.fptosi")
def fptosi(op: Operation, operands: Operands, run: Run) -> Tensor:
    return rounding.to_integer(operands[0], dtype_of(op.result_types[0]), unsigned=False)


@operation("arith.fptoui")
def fptoui(op: Operation, operands: Operands, run: Run) -> Tensor:
    return rounding.to_integer(operands[0], dtype_of(op.result_types[0]), unsigned=True)


@operation("arith.bitcast", "tt.bitcast")
def bitcast(op: Operation, operands: Operands, run: Run) -> Tensor:
    dtype = dtype_of(op.result_types[0])
    [value] = operands
    if torch.bool in (dtype, value.dtype):  # between i1 and an i8 of 0 or 1
        return value.to(dtype)
    return value.view(dtype)


@operation("tt.ptr_to_int", "tt.int_to_ptr")
def address(op: Operation, operands: Operands, run: Run) -> Tensor:
    return operands[0]


@operation("tt.clampf")
def clampf(op: Operation, operands: Operands, run: Run) -> Tensor:
    x, low, high = operands
    if str(op.attributes.get("propagateNan", "none")) == "all":
        return torch.minimum(torch.maximum(x, low), high)
    return torch.fmin(torch.fmax(x, low), high)


@operation("tt.precise_divf")
def precise_divf(op: Operation, operands: Operands, run: Run) -> Tensor:
    return operands[0] / operands[1]
