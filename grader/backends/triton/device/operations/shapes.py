"""Making, reshaping and rearranging tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.integers import OF_SIZE
from grader.backends.triton.device.operations import Operands, operation
from grader.backends.triton.device.run import Run
from grader.backends.triton.device.ttir.records import Dense, Operation
from grader.backends.triton.device.values import dtype_of, expanded, poison


@operation("arith.constant")
def constant(op: Operation, operands: Operands, run: Run | None) -> Tensor:
    [type_] = op.result_types
    value = op.attributes["value"]
    dtype = dtype_of(type_)
    if isinstance(value, int | float):
        value = Dense((value,))
    if not isinstance(value, Dense):
        raise Malformed(f"the constant {value}")
    elements = _elements(value, dtype)
    shape = type_.shape or ()
    if len(elements) == 1:
        return elements.reshape([1] * (1 + len(shape)))
    return elements.reshape(1, *shape)


def _elements(dense: Dense, dtype: torch.dtype) -> Tensor:
    if dtype.is_floating_point:
        if dense.bits is not None:
            return _integers(dense.bits, OF_SIZE[dtype.itemsize]).view(dtype)
        return torch.tensor(dense.elements, dtype=torch.float64).to(dtype)
    if dtype == torch.bool:
        return torch.tensor([bool(each) for each in dense.elements])
    return _integers(dense.elements, dtype)


def _integers(elements: Sequence[int | float | bool], dtype: torch.dtype) -> Tensor:
    half = 1 << (torch.iinfo(dtype).bits - 1)
    wrapped = [(int(each) + half) % (2 * half) - half for each in elements]
    return torch.tensor(wrapped, dtype=dtype)


@operation("ub.poison")
def undefined(op: Operation, operands: Operands, run: Run) -> Tensor:
    [type_] = op.result_types
    dtype = dtype_of(type_)
    return torch.full([1] * (1 + len(type_.shape or ())), poison(dtype), dtype=dtype)


@operation("tt.make_range")
def make_range(op: Operation, operands: Operands, run: Run | None) -> Tensor:
    start, end = op.attributes["start"], op.attributes["end"]
    shape = op.result_types[0].shape
    if not (isinstance(start, int) and isinstance(end, int) and shape == (end - start,)):
        raise Malformed(f"a range from {start} to {end}")
    return torch.arange(start, end, dtype=torch.int32)[None]


@operation("tt.splat")
def splat(op: Operation, operands: Operands, run: Run) -> Tensor:
    [value] = operands
    return value.reshape(-1, *[1] * len(op.result_types[0].shape or ()))


@operation("tt.unsplat")
def unsplat(op: Operation, operands: Operands, run: Run) -> Tensor:
    return operands[0].reshape(-1)


@operation("tt.expand_dims")
def expand_dims(op: Operation, operands: Operands, run: Run) -> Tensor:
    return operands[0].unsqueeze(_axis(op))


@operation("tt.broadcast")
def broadcast(op: Operation, operands: Operands, run: Run) -> Tensor:
    return operands[0]


@operation("tt.reshape")
def reshape(op: Operation, operands: Operands, run: Run) -> Tensor:
    [value] = operands
    shape = op.result_types[0].shape or ()
    if value.numel() == value.shape[0]:
        return value.reshape(-1, *[1] * len(shape))
    return expanded(value, op.operand_types[0]).reshape(-1, *shape)


@operation("tt.trans")
def trans(op: Operation, operands: Operands, run: Run) -> Tensor:
    order = op.attributes["order"]
    assert isinstance(order, tuple)
    return operands[0].permute(0, *(1 + axis for axis in order if isinstance(axis, int)))


@operation("tt.join")
def join(op: Operation, operands: Operands, run: Run) -> Tensor:
    return torch.stack(torch.broadcast_tensors(*operands), dim=-1)


@operation("tt.split")
def split(op: Operation, operands: Operands, run: Run) -> tuple[Tensor, Tensor]:
    [value] = operands
    return value[..., 0], value[..., -1]


@operation("tt.cat")
def cat(op: Operation, operands: Operands, run: Run) -> Tensor:
    parts = [
        expanded(value, type_) for value, type_ in zip(operands, op.operand_types, strict=True)
    ]
    programs = max(part.shape[0] for part in parts)
    return torch.cat([part.expand(programs, *part.shape[1:]) for part in parts], dim=1)


@operation("tt.gather")
def gather(op: Operation, operands: Operands, run: Run) -> Tensor:
    """Take elements along an axis; from an index beyond it comes poison."""
    source, index = (
        expanded(value, type_) for value, type_ in zip(operands, op.operand_types, strict=True)
    )
    axis = _axis(op)
    programs = max(source.shape[0], index.shape[0])
    source = source.expand(programs, *source.shape[1:])
    index = index.expand(programs, *index.shape[1:]).to(torch.int64)
    inside = (index >= 0) & (index < source.shape[axis])
    found = source.gather(axis, torch.where(inside, index, 0))
    return torch.where(inside, found, poison(found.dtype))


@operation("tt.histogram")
def histogram(op: Operation, operands: Operands, run: Run) -> Tensor:
    """Count how often each bin is drawn; numbers beyond the last bin do not count."""
    [type_] = op.result_types
    (bins,) = type_.shape or (0,)
    parts = [
        expanded(value, type_) for value, type_ in zip(operands, op.operand_types, strict=True)
    ]
    drawn, *masks = torch.broadcast_tensors(*parts)
    drawn = drawn.to(torch.int64)
    inside = (drawn >= 0) & (drawn < bins)
    for mask in masks:
        inside = inside & mask
    counts = torch.zeros((drawn.shape[0], bins), dtype=dtype_of(type_))
    return counts.scatter_add_(1, torch.where(inside, drawn, 0), inside.to(counts.dtype))


def _axis(op: Operation) -> int:
    """Return an operation's axis, counted with the axis of programs."""
    axis = op.attributes["axis"]
    rank = len((op.result_types or op.operand_types)[0].shape or ())
    if not isinstance(axis, int) or not 0 <= axis <= rank:
        raise Malformed(f"{op.name} has the axis {axis}")
    return axis + 1
