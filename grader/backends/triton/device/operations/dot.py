"""Products of matrices, with the precision that a tensor core has for its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from grader.backends.triton.device import rounding
from grader.backends.triton.device.faults import Malformed, NotSimulated
from grader.backends.triton.device.operations import Operands, operation
from grader.backends.triton.device.run import Run
from grader.backends.triton.device.ttir.records import Operation
from grader.backends.triton.device.values import FLOAT8, dtype_of, expanded

# OCP Microscaling Formats 1.0: one scale for so many numbers, an exponent of this bias.
_SCALED_TOGETHER = 32
_SCALE_BIAS = 127
_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_PACKED = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}


@operation("tt.dot")
def dot(op: Operation, operands: Operands, run: Run) -> Tensor:
    a, b, c = (
        expanded(value, type_) for value, type_ in zip(operands, op.operand_types, strict=True)
    )
    dtype = dtype_of(op.result_types[0])
    precision = str(op.attributes.get("inputPrecision", "ieee"))
    if not dtype.is_floating_point:
        return c + _whole_product(a, b).to(dtype)
    if a.dtype == torch.float32 and precision not in _PRODUCTS:
        raise NotSimulated(f"a product with the precision {precision}")
    product = _PRODUCTS[precision if a.dtype == torch.float32 else "ieee"]
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    total = product(_wide(a, wide), _wide(b, wide)) + c.to(wide)
    return rounding.to_float(total, dtype)


def _wide(value: Tensor, dtype: torch.dtype) -> Tensor:
    return value.to(dtype) if value.dtype != dtype else value


def _whole_product(a: Tensor, b: Tensor) -> Tensor:
    """Multiply int8; sums of fewer than 2**39 products are exact in float64."""
    return torch.matmul(a.double(), b.double()).long()


def _tf32(x: Tensor) -> Tensor:
    """Drop the bits of float32 that a tensor core does not read."""
    return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)


def _bf16(x: Tensor) -> Tensor:
    return x.bfloat16().float()


def _parts(x: Tensor, narrow: Callable[[Tensor], Tensor], count: int) -> list[Tensor]:
    """Split numbers into narrow ones, of which each is what the earlier ones left."""
    parts = []
    for _ in range(count):
        part = narrow(x)
        parts.append(part)
        # What is left of infinity is NaN; the products of the first parts are infinite anyway.
        x = torch.where(torch.isfinite(part), x - part, 0.0)
    return parts


def _split(narrow: Callable[[Tensor], Tensor], count: int) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a product of `count` parts of each number, less the products too small to matter."""

    def product(a: Tensor, b: Tensor) -> Tensor:
        left, right = _parts(a.contiguous(), narrow, count), _parts(b.contiguous(), narrow, count)
        pairs = [(i, j) for i in range(count) for j in range(count) if i + j < count]
        terms = [
            torch.matmul(left[i], right[j])
            for i, j in sorted(pairs, key=lambda pair: -pair[0] - pair[1])
        ]
        return torch.stack(terms).sum(0)

    return product


_PRODUCTS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "ieee": torch.matmul,
    "tf32": lambda a, b: torch.matmul(_tf32(a.contiguous()), _tf32(b.contiguous())),
    "tf32x3": _split(_tf32, 2),
    "bf16x3": _split(_bf16, 2),
    "bf16x6": _split(_bf16, 3),
}


@operation("tt.dot_scaled")
def dot_scaled(op: Operation, operands: Operands, run: Run) -> Tensor:
    """Multiply matrices whose numbers have an exponent for each 32 of them."""
    values = [
        expanded(value, type_) for value, type_ in zip(operands, op.operand_types, strict=True)
    ]
    a, b, c, *scales = values
    segments = op.attributes.get("operandSegmentSizes")
    if not isinstance(segments, tuple) or len(segments) != 5:
        raise Malformed(f"{op.name} without the counts of its operands")
    scale_of_a = scales.pop(0) if segments[3] else None
    scale_of_b = scales.pop(0) if segments[4] else None
    left = _unpacked(op, a, "a_elem_type", along=-1)
    right = _unpacked(op, b, "b_elem_type", along=-2)
    left = left if scale_of_a is None else left * _factors(scale_of_a, left.shape[-1])
    if scale_of_b is not None:
        right = right * _factors(scale_of_b, right.shape[-2]).transpose(-1, -2)
    total = torch.matmul(left, right) + c.float()
    return rounding.to_float(total, dtype_of(op.result_types[0]))


def _unpacked(op: Operation, value: Tensor, key: str, along: int) -> Tensor:
    """Return the numbers of a factor as float32; of e2m1 a byte holds two, the lower bits first."""
    kind = op.attributes.get(key)
    if kind in ("fp16", "bf16") or value.dtype in FLOAT8:
        return value.float()
    if kind in _PACKED:
        return value.view(_PACKED[str(kind)]).float()
    side = "lhs_k_pack" if key.startswith("a") else "rhs_k_pack"
    if kind != "e2m1" or value.dtype != torch.int8 or not op.attributes.get(side, True):
        raise NotSimulated(f"a scaled product of {kind}")
    table = torch.tensor([*_E2M1, *(-each for each in _E2M1)])
    codes = torch.stack([value & 15, (value >> 4) & 15], dim=along)
    numbers = table[codes.long()]
    shape = list(value.shape)
    shape[along] *= 2
    return numbers.reshape(shape)


def _factors(scales: Tensor, count: int) -> Tensor:
    """Return a factor for each of `count` numbers in a row; the byte 255 is NaN."""
    if scales.shape[-1] * _SCALED_TOGETHER != count or scales.dtype != torch.int8:
        raise NotSimulated(f"{scales.shape[-1]} scales of {scales.dtype} for {count} numbers")
    exponents = (scales.to(torch.int32) & 0xFF) - _SCALE_BIAS
    factors = torch.where(exponents == 128, torch.nan, torch.exp2(exponents.double()).float())
    return factors.repeat_interleave(_SCALED_TOGETHER, dim=-1)
