"""`tt.reduce`, `tt.scan` and `tt.map_elementwise`, with any region of scalars.

Reductions and scans combine in a tree, as a GPU does: halves with halves. So float32 sums have a
tree's error, and each level is a few operations on whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from grader.backends.triton.device import undefined
from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.operations import Operands, operation
from grader.backends.triton.device.run import Run
from grader.backends.triton.device.ttir.records import Operation, Region
from grader.backends.triton.device.values import expanded

Combine = Callable[[Sequence[Tensor], Sequence[Tensor]], list[Tensor]]


@operation("tt.reduce")
def reduce(op: Operation, operands: Operands, run: Run) -> tuple[Tensor, ...]:
    results = _reduced(op, operands, run)
    run.memory.note_result(op, run.programs, run.loops, results[0])
    return results


def _reduced(op: Operation, operands: Operands, run: Run) -> tuple[Tensor, ...]:
    axis, values = _along(op, operands)
    if len(values) == 1:
        only = _only_operation(op.regions[0])
        quick = _QUICK.get(only)
        if quick is not None and (result := quick(values[0], axis)) is not None:
            numbers = undefined.numbers_of(values[0], run.memory.undefined_loads)
            run.memory.note_combined(numbers, op.site, only)
            return (undefined.numbered(result, None if numbers is None else numbers.amax(axis)),)
    combine = _combination(op.regions[0], values, run)
    while (size := values[0].shape[axis]) > 1:
        half = size // 2
        left = [value.narrow(axis, 0, half) for value in values]
        right = [value.narrow(axis, half, half) for value in values]
        combined = combine(left, right)
        if size % 2:
            rest = [value.narrow(axis, size - 1, 1) for value in values]
            combined = [torch.cat(pair, axis) for pair in zip(combined, rest, strict=True)]
        values = combined
    return tuple(value.squeeze(axis) for value in values)


@operation("tt.scan")
def scan(op: Operation, operands: Operands, run: Run) -> tuple[Tensor, ...]:
    """Combine each element with all before it, in log2(size) steps over all (Hillis, Steele)."""
    axis, values = _along(op, operands)
    reverse = bool(op.attributes.get("reverse", False))
    if reverse:
        values = [value.flip(axis) for value in values]
    exact_sum = len(values) == 1 and not values[0].dtype.is_floating_point
    if exact_sum and _only_operation(op.regions[0]) == "arith.addi":
        values = [values[0].cumsum(axis, dtype=values[0].dtype)]
    else:
        values = _scanned(values, axis, _combination(op.regions[0], values, run))
    if reverse:
        values = [value.flip(axis) for value in values]
    return tuple(values)


@operation("tt.map_elementwise")
def map_elementwise(op: Operation, operands: Operands, run: Run) -> tuple[Tensor, ...]:
    """Execute a region for every `pack` elements that are next to each other in the last axes."""
    pack = op.attributes.get("pack", 1)
    if not isinstance(pack, int) or pack < 1:
        raise Malformed(f"tt.map_elementwise packs {pack}")
    values = _complete(op, operands)
    parts = [value.reshape(value.shape[0], -1, pack).unbind(2) for value in values]
    results = lane_by_lane(op.regions[0], [lane for lanes in parts for lane in lanes], run)
    return tuple(
        torch.stack(results[i : i + pack], 2).reshape(values[0].shape)
        for i in range(0, len(results), pack)
    )


def _scanned(values: list[Tensor], axis: int, combine: Combine) -> list[Tensor]:
    size = values[0].shape[axis]
    distance = 1
    while distance < size:
        rest = size - distance
        before = [value.narrow(axis, 0, rest) for value in values]
        here = [value.narrow(axis, distance, rest) for value in values]
        combined = combine(before, here)
        values = [
            torch.cat((value.narrow(axis, 0, distance), new), axis)
            for value, new in zip(values, combined, strict=True)
        ]
        distance *= 2
    return values


def _along(op: Operation, operands: Operands) -> tuple[int, list[Tensor]]:
    """Return the axis, where 0 is that of programs, and the operands with equal shapes."""
    axis = op.attributes["axis"]
    rank = len(op.operand_types[0].shape or ())
    if not isinstance(axis, int) or not 0 <= axis < rank:
        raise Malformed(f"{op.name} has the axis {axis}")
    return axis + 1, _complete(op, operands)


def _complete(op: Operation, operands: Operands) -> list[Tensor]:
    """Return views of the operands with all their elements, for as many programs each."""
    values = [
        expanded(value, type_) for value, type_ in zip(operands, op.operand_types, strict=True)
    ]
    return values if len(values) == 1 else list(torch.broadcast_tensors(*values))


def _combination(region: Region, values: Sequence[Tensor], run: Run) -> Combine:
    """Return the function that a region computes, of all elements of two arrays at once."""
    if _is_elementwise(region, run):
        return lambda left, right: _tensors(run.region(region, [*left, *right]))
    return lambda left, right: lane_by_lane(region, [*left, *right], run)


def lane_by_lane(region: Region, values: Sequence[Tensor], run: Run) -> list[Tensor]:
    """Execute a region of scalars as if each lane were a program: lanes may part at branches."""
    shape = values[0].shape
    owners = torch.arange(shape[0]).repeat_interleave(shape.numel() // shape[0])
    results = run.narrowed(owners).region(region, [each.reshape(-1) for each in values])
    return [each.expand(len(owners)).reshape(shape) for each in _tensors(results)]


def _tensors(values: Sequence[object]) -> list[Tensor]:
    return [value for value in values if isinstance(value, Tensor)]


def _is_elementwise(region: Region, run: Run) -> bool:
    """Say if a region takes whole arrays: no branches, and from outside only uniform values."""
    plans = run.blocks(region)
    if len(plans) > 1:
        return False
    [plan] = plans
    operations = [step.operation for step in plan.steps]
    own = {*plan.arguments, *plan.constants, *(name for op in operations for name in op.results)}
    outside = [run.values[name] for name in plan.used - own]
    return all(op.name.startswith(("arith.", "math.")) for op in operations) and all(
        isinstance(value, Tensor) and value.shape[0] == 1 for value in outside
    )


def _only_operation(region: Region) -> str:
    if len(region.blocks) != 1 or len(region.blocks[0].operations) != 2:
        return ""
    [block] = region.blocks
    combine, end = block.operations
    names = {name for name, _ in block.arguments}
    if set(combine.operands) != names or end.operands != combine.results:
        return ""
    return combine.name


def _sum(value: Tensor, axis: int) -> Tensor | None:
    """Add up integers and wide floats; torch's sums of floats are pairwise.

    Half precision rounds at each level of a GPU's tree, which torch does not.
    """
    if (value.dtype.is_floating_point and value.dtype.itemsize < 4) or value.dtype == torch.bool:
        return None
    return value.sum(axis, dtype=value.dtype)


def _numbers_only(extreme: Callable[..., Tensor], neutral: float) -> Callable[..., Tensor]:
    """Ignore NaN in the search of an extreme, unless there is nothing else."""

    def search(value: Tensor, axis: int) -> Tensor:
        found = extreme(value, axis)
        nans = torch.isnan(found)
        if not bool(nans.any()):
            return found
        missing = torch.isnan(value)
        numbers = extreme(torch.where(missing, neutral, value), axis)
        return torch.where(missing.all(axis), found, numbers)

    return search


_QUICK: dict[str, Callable[[Tensor, int], Tensor | None]] = {
    "arith.addf": _sum,
    "arith.addi": _sum,
    "arith.maxsi": lambda value, axis: None if value.dtype == torch.bool else value.amax(axis),
    "arith.minsi": lambda value, axis: None if value.dtype == torch.bool else value.amin(axis),
    "arith.maxnumf": _numbers_only(torch.amax, -torch.inf),
    "arith.minnumf": _numbers_only(torch.amin, torch.inf),
    "arith.maximumf": torch.amax,
    "arith.minimumf": torch.amin,
}
