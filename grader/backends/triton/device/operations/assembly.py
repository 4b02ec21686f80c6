"""`tl.inline_asm_elementwise`: PTX for a few elements at a time, here for all at once."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.backends.triton.device import ptx
from grader.backends.triton.device.faults import Malformed, NotSimulated
from grader.backends.triton.device.integers import OF_SIZE
from grader.backends.triton.device.operations import Operands, operation
from grader.backends.triton.device.ptx_text import instructions
from grader.backends.triton.device.run import Run
from grader.backends.triton.device.ttir.records import Operation
from grader.backends.triton.device.values import dtype_of, expanded

_REGISTER = 32  # bits, for elements that are packed


@operation("tt.elementwise_inline_asm")
def inline(op: Operation, operands: Operands, run: Run) -> tuple[Tensor, ...]:
    """Run the text on registers `$0`, `$1`, ...: those of the results come first."""
    pack = op.attributes.get("packed_element")
    if not isinstance(pack, int) or not 1 <= pack <= 64:
        raise Malformed(f"assembly for {pack} elements at a time")
    values = [
        expanded(value, type_) for value, type_ in zip(operands, op.operand_types, strict=True)
    ]
    rows = max((value.shape[0] for value in values), default=1)
    shape = op.result_types[0].shape or ()
    results = [dtype_of(type_) for type_ in op.result_types]
    counts = [_registers_of(dtype, pack) for dtype in results]
    registers: ptx.Registers = {}
    number = sum(counts)
    for value in values:
        for register in _packed(value.expand(rows, *value.shape[1:]), pack):
            registers[f"${number}"] = register
            number += 1
    text = instructions(str(op.attributes["asm_string"]))
    if not text and not operands:  # for an effect alone, and it has none here
        registers = {f"${i}": torch.zeros(1, dtype=torch.int64) for i in range(number)}
    ptx.run(text, registers)
    found, first = [], 0
    for dtype, count in zip(results, counts, strict=True):
        names = [f"${i}" for i in range(first, first + count)]
        if missing := [name for name in names if name not in registers]:
            raise NotSimulated(f"assembly that leaves {missing[0]} without a value")
        found.append(_unpacked([registers[name] for name in names], dtype, pack, (rows, *shape)))
        first += count
    return tuple(found)


def _sharing_a_register(dtype: torch.dtype, pack: int) -> int:
    return max(1, min(pack, _REGISTER // (8 * dtype.itemsize)))


def _registers_of(dtype: torch.dtype, pack: int) -> int:
    together = _sharing_a_register(dtype, pack)
    if pack % together:
        raise Malformed(f"{pack} elements of {dtype} do not fill registers")
    return pack // together


def _packed(value: Tensor, pack: int) -> list[Tensor]:
    """Return the registers that hold a value, each with a lane for every `pack` elements."""
    together = _sharing_a_register(value.dtype, pack)
    count = _registers_of(value.dtype, pack)
    if value.numel() % pack:
        raise Malformed(f"{value.numel()} elements are no multiple of {pack}")
    bits = ptx.written(value.contiguous()).reshape(-1, count, together)
    width = 8 * value.dtype.itemsize
    return [_joined(bits[:, i], width) for i in range(count)]


def _joined(parts: Tensor, width: int) -> Tensor:
    """Put the last axis into one number, the first part in the lowest bits."""
    total = parts[:, 0]
    for i in range(1, parts.shape[1]):
        total = total | parts[:, i] << (width * i)
    return total


def _unpacked(
    registers: list[Tensor], dtype: torch.dtype, pack: int, shape: tuple[int, ...]
) -> Tensor:
    width, together = 8 * dtype.itemsize, _sharing_a_register(dtype, pack)
    lanes = torch.Size(shape).numel() // pack
    parts = [
        (register >> (width * i)).expand(lanes) for register in registers for i in range(together)
    ]
    whole = torch.stack(parts, dim=-1).reshape(shape)
    if dtype == torch.bool:
        return whole & 1 != 0
    narrow = whole.to(OF_SIZE[dtype.itemsize])
    return narrow.view(dtype) if dtype.is_floating_point else narrow
