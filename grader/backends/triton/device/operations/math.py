"""The dialect `math`: functions of one float or integer, and fused multiplication and addition."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from grader.backends.triton.device import rounding
from grader.backends.triton.device.operations import Operands, operation
from grader.backends.triton.device.run import Run
from grader.backends.triton.device.ttir.records import Operation


def _unary(name: str, function: Callable[[Tensor], Tensor]) -> None:
    @operation(name)
    def execute(op: Operation, operands: Operands, run: Run) -> Tensor:
        return function(operands[0])


_unary("math.exp2", torch.exp2)
_unary("math.expm1", torch.expm1)
_unary("math.log", torch.log)
_unary("math.log2", torch.log2)
_unary("math.log10", torch.log10)
_unary("math.log1p", torch.log1p)
_unary("math.rsqrt", torch.rsqrt)
_unary("math.sin", torch.sin)
_unary("math.cos", torch.cos)
_unary("math.tan", torch.tan)
_unary("math.tanh", torch.tanh)
_unary("math.sinh", torch.sinh)
_unary("math.cosh", torch.cosh)
_unary("math.asin", torch.asin)
_unary("math.acos", torch.acos)
_unary("math.atan", torch.atan)
_unary("math.erf", torch.erf)
_unary("math.erfc", torch.erfc)
_unary("math.floor", torch.floor)
_unary("math.ceil", torch.ceil)
_unary("math.trunc", torch.trunc)
_unary("math.round", rounding.ties_away)
_unary("math.roundeven", torch.round)
_unary("math.absf", torch.abs)
_unary("math.absi", torch.abs)
_unary("math.sqrt", rounding.square_root)
_unary("tt.precise_sqrt", rounding.square_root)


@operation("math.exp")
def exp(op: Operation, operands: Operands, run: Run) -> Tensor:
    """Compute the exponential; in float64, if that is wider, and rounded once.

    torch's own takes up to thirty times as long where results are not normal numbers, and softmax
    has many of these: lanes that a mask fills with -inf.
    """
    [value] = operands
    if value.dtype == torch.float64:
        return torch.exp(value)
    exponent = value.double().mul_(math.log2(math.e))
    return rounding.to_float(exponent.exp2_(), value.dtype)


@operation("math.atan2")
def atan2(op: Operation, operands: Operands, run: Run) -> Tensor:
    return torch.atan2(*operands)


@operation("math.powf")
def powf(op: Operation, operands: Operands, run: Run) -> Tensor:
    return torch.pow(*operands)


@operation("math.copysign")
def copysign(op: Operation, operands: Operands, run: Run) -> Tensor:
    return torch.copysign(*operands)


@operation("math.fma")
def fma(op: Operation, operands: Operands, run: Run) -> Tensor:
    """Multiply and add with one rounding."""
    a, b, c = operands
    if a.dtype == torch.float64:
        return _fma64(a, b, c)
    # The product of two float32 is exact in float64.
    exact = a.double() * b.double() + c.double()
    return rounding.to_float(exact, a.dtype)


def _fma64(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Add what the rounding of product and sum lost (Dekker, Knuth)."""
    product = a * b
    total = product + c
    tail = total - product
    lost_by_sum = (product - (total - tail)) + (c - tail)
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    lost_by_product = a_low * b_low - (
        ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    )
    corrected = total + (lost_by_sum + lost_by_product)
    return torch.where(torch.isfinite(corrected), corrected, total)


def _halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Split float64 into two numbers of 26 bits whose sum it is."""
    scaled = x * float((1 << 27) + 1)
    high = scaled - (scaled - x)
    return high, x - high
