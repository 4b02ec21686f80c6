"""Tensor descriptors: blocks of an array in memory, with what the hardware does at its edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from grader.backends.triton.device.access import Access, Kind
from grader.backends.triton.device.faults import Malformed, Misaligned, NotSimulated
from grader.backends.triton.device.operations import Results, operation
from grader.backends.triton.device.operations.atomics import update
from grader.backends.triton.device.run import Run
from grader.backends.triton.device.ttir.records import Operation, Type
from grader.backends.triton.device.values import DTYPES, Descriptor, Value, expanded

_ALIGNED = 16  # bytes: CUDA driver API, cuTensorMapEncodeTiled
_SUSPICION = "is the descriptor's shape right?"
_GRANULES = f"What a descriptor writes ends after whole {_ALIGNED} bytes of the last axis"
_PADDING: Mapping[object, str] = {1: "zero", 2: "nan"}  # Triton's PaddingOption
_ZERO, _NAN = 0, float("nan")


@operation("tt.make_tensor_descriptor")
def make_tensor_descriptor(op: Operation, operands: list[Tensor], run: Run) -> Value:
    """Return a descriptor; raise Misaligned where the hardware takes no such array."""
    block = op.result_types[0].pointee
    base, *rest = operands
    rank = len(block.shape or ()) if block is not None else 0
    if block is None or len(rest) != 2 * rank:
        raise Malformed(f"{op.name} of rank {rank} with {len(rest)} sizes")
    shape, strides = tuple(rest[:rank]), tuple(each.long() for each in rest[rank:])
    size = _dtype(block).itemsize
    if bool((base % _ALIGNED).any()) or any(
        bool((stride * size % _ALIGNED).any()) for stride in strides[:-1]
    ):
        raise Misaligned(
            f"a tensor descriptor needs a base, and strides but the last, that are multiples of "
            f"{_ALIGNED} bytes"
        )
    if bool((strides[-1] != 1).any()):
        raise Misaligned("a tensor descriptor needs elements that are adjacent in the last axis")
    padding = op.attributes.get("padding", 1)
    if padding not in _PADDING:
        raise NotSimulated(f"descriptors with the padding {padding}")
    return Descriptor(base, shape, strides, block, _PADDING[padding])


@operation("tt.descriptor_load")
def load(op: Operation, operands: list[Value], run: Run) -> Results:
    descriptor, *indices = operands
    places = _block_places(_descriptor(op, descriptor), indices)
    return _loaded(op, _descriptor(op, descriptor), places, run)


@operation("tt.descriptor_gather")
def gather(op: Operation, operands: list[Value], run: Run) -> Results:
    descriptor, rows, column = operands
    places = _row_places(op, _descriptor(op, descriptor), rows, column)
    return _loaded(op, _descriptor(op, descriptor), places, run)


@operation("tt.descriptor_store")
def store(op: Operation, operands: list[Value], run: Run) -> None:
    descriptor, values, *indices = operands
    places = _block_places(_descriptor(op, descriptor), indices)
    _stored(op, _descriptor(op, descriptor), places, values, 1, run)


@operation("tt.descriptor_scatter")
def scatter(op: Operation, operands: list[Value], run: Run) -> None:
    descriptor, rows, column, values = operands
    places = _row_places(op, _descriptor(op, descriptor), rows, column)
    _stored(op, _descriptor(op, descriptor), places, values, 3, run)


@operation("tt.descriptor_reduce")
def reduce(op: Operation, operands: list[Value], run: Run) -> None:
    descriptor, values, *indices = operands
    here = _descriptor(op, descriptor)
    access = _access(op, "atomic", here, _block_places(here, indices), run)
    whole = _shaped(values, op.operand_types[1], access)
    kind = str(op.attributes.get("kind"))
    element = here.block.element
    letter = "u" if element.startswith("ui") and kind in ("min", "max") else ""
    letter = "f" if access.dtype.is_floating_point else letter
    run.memory.atomic(access, update(f"{letter}{kind}", access.dtype, run), whole)


def _descriptor(op: Operation, value: Value) -> Descriptor:
    if not isinstance(value, Descriptor):
        raise Malformed(f"{op.name} without a descriptor")
    return value


def _dtype(block: Type) -> torch.dtype:
    """Return the dtype of a block, whose integers may have a sign in their name."""
    dtype = DTYPES.get(block.element.removeprefix("s").removeprefix("u"))
    if dtype is None:
        raise Malformed(f"a descriptor of {block.element}")
    return dtype


def _block_places(descriptor: Descriptor, indices: Sequence[Value]) -> list[Tensor]:
    """Return the places along each axis that a block takes, as (programs or 1, ..., size, ...)."""
    sizes = descriptor.block.shape or ()
    if len(indices) != len(sizes):
        raise Malformed(f"a descriptor of rank {len(sizes)} with {len(indices)} indices")
    places = []
    for axis, (index, size) in enumerate(zip(indices, sizes, strict=True)):
        if not isinstance(index, Tensor):
            raise Malformed("an index that is not a number")
        first = index.long().view(-1, *[1] * len(sizes))
        after = [1] * (len(sizes) - axis - 1)
        places.append(first + torch.arange(size).view(-1, *after))
    return places


def _row_places(op: Operation, descriptor: Descriptor, rows: Value, column: Value) -> list[Tensor]:
    """Return the rows (programs or 1, n, 1) and the columns (programs or 1, 1, size)."""
    sizes = descriptor.block.shape or ()
    if len(sizes) != 2 or not isinstance(rows, Tensor) or not isinstance(column, Tensor):
        raise Malformed(f"{op.name} of a descriptor of rank {len(sizes)}")
    down = expanded(rows, op.operand_types[1]).long()[:, :, None]
    return [down, column.long()[:, None, None] + torch.arange(sizes[1])]


def _access(
    op: Operation, kind: Kind, descriptor: Descriptor, places: Sequence[Tensor], run: Run
) -> Access:
    """Return the access to the elements at these places, those beyond the edges masked off.

    A load beyond them is padding, exactly. A store or an atomic ends only after whole 16 bytes of
    the last axis, as it does on an H200.
    """
    rank = len(places)
    dtype = _dtype(descriptor.block)
    extents = [extent.long() for extent in descriptor.shape]
    if kind != "load":
        extents[-1] = _whole_granules(extents[-1], dtype.itemsize)

    def spread(scalar: Tensor) -> Tensor:
        return scalar.long().view(-1, *[1] * rank)

    addresses = spread(descriptor.base)
    inside = torch.ones(1, dtype=torch.bool).view([1] * (rank + 1))
    for place, extent, stride in zip(places, extents, descriptor.strides, strict=True):
        addresses = addresses + place * spread(stride) * dtype.itemsize
        inside = inside & (place >= 0) & (place < spread(extent))
    shape = np.broadcast_shapes(*(place.shape[1:] for place in places))
    return Access(
        kind=kind,
        addresses=addresses.expand(-1, *shape),
        mask=inside,
        dtype=dtype,
        programs=run.programs,
        site=op.site,
        operation=op,
        loops=run.loops,
        suspicion=_SUSPICION if kind == "load" else f"{_SUSPICION} {_GRANULES}",
    )


def _whole_granules(extent: Tensor, itemsize: int) -> Tensor:
    granule = _ALIGNED // itemsize
    return -(-extent // granule) * granule


def _loaded(op: Operation, descriptor: Descriptor, places: Sequence[Tensor], run: Run) -> Tensor:
    access = _access(op, "load", descriptor, places, run)
    nan = descriptor.padding == "nan" and access.dtype.is_floating_point
    padding = torch.tensor(_NAN if nan else _ZERO, dtype=torch.float32).to(access.dtype)
    loaded = run.memory.load(access, padding.view([1] * len(access.addresses.shape)))
    return loaded.reshape(-1, *(op.result_types[0].shape or ()))


def _stored(
    op: Operation,
    descriptor: Descriptor,
    places: Sequence[Tensor],
    values: Value,
    operand: int,
    run: Run,
) -> None:
    access = _access(op, "store", descriptor, places, run)
    run.memory.store(access, _shaped(values, op.operand_types[operand], access))


def _shaped(values: Value, type_: Type, access: Access) -> Tensor:
    """Return values in the shape of the block, of which a value may lack axes of 1."""
    if not isinstance(values, Tensor):
        raise Malformed("a descriptor is stored")
    return expanded(values, type_).reshape(-1, *access.addresses.shape[1:])
