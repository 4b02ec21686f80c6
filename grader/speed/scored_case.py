"""The scored case of an exercise, and the sizes of its arguments before they take any memory."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

import torch
from torch import Tensor

from grader.correctness import LargeDraw, NumberDraw
from grader.model import Case, Inputs, Spec
from grader.sandbox import REDZONE, check_inputs, destinations

FEW = 64  # rows of a case from which the bytes of one row follow
FEW_ELEMENTS = 1 << 20  # drawn in some milliseconds
# Of the warm-up call: some megabytes, too few to hide anything there.
SPARE_ROWS, SPARE_BYTES = 16, 8 << 20


def arguments(
    spec: Spec, case: Case, device: torch.device | str = "cpu"
) -> dict[str, Tensor | float]:
    """Return all arguments of one call; tensors have shape, strides and dtype but no memory.

    They are on torch's meta device. Outputs of the scored case, made as for a check, would take
    half a second and gigabytes of the host's memory, and values of long rows take seconds to draw.
    Values are drawn, on `device`, only where they are few, or the spec reads them.
    """
    drawn = _drawn(spec, case, device)
    inputs = {name: _without_memory(value) for name, value in drawn.items()}
    check_inputs(spec, inputs)
    return inputs | destinations(spec, inputs, torch.device("meta"))


def _drawn(spec: Spec, case: Case, device: torch.device | str) -> Inputs:
    # Few values are drawn in milliseconds. On the meta device torch imports its Python
    # decompositions, for 0.7 s, once the spec computes.
    if math.prod(case.shape) > FEW_ELEMENTS:
        with suppress(Exception):  # a spec that reads values fails in many ways without them
            return spec.inputs(case, NumberDraw(case, 0))
    return spec.inputs(case, LargeDraw(case, device, 0))


def _without_memory(value: Tensor | float) -> Tensor | float:
    if not isinstance(value, Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def bytes_per_row(spec: Spec, case: Case | None = None) -> int:
    """Return the bytes of one row (one element, for 1-D arguments) in all arguments.

    The row is of the scored case, or of another with rows as long and of the same dtype.
    """
    few = scored_case(spec, FEW) if case is None else replace(case, shape=(FEW, *case.shape[1:]))
    # A small tensor that does not grow, like the output of a reduction, is lost in the division.
    return max(1, sum(_tensor_bytes(spec, few).values()) // FEW)


def largest_bytes(spec: Spec, case: Case) -> int:
    """Return the bytes of a case's largest tensor.

    They follow from those of two cases with few rows, because the case may not fit the memory.
    """
    rows, *extents = case.shape
    few, more = (_tensor_bytes(spec, replace(case, shape=(n, *extents))) for n in (FEW, 2 * FEW))
    return max(few[name] + (more[name] - few[name]) * (rows - FEW) // FEW for name in few)


def rounds(spec: Spec) -> float:
    """Return the bytes that a call of the scored case must move, per byte of its arguments."""
    sizes = _tensor_bytes(spec, scored_case(spec, FEW))
    return sum(spec.least_bytes(usually_needed(spec, sizes))) / sum(sizes.values())


def usually_needed(spec: Spec, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the bytes of one pass over what inputs ask for, by that of few rows.

    `sizes` are the bytes of each tensor of the scored case, with any number of rows.
    """
    if not any(argument.needed for argument in spec.arguments):
        return dict(sizes)
    case = scored_case(spec, FEW)
    few, needed = _tensor_bytes(spec, case), _needed_bytes(spec, case)
    return {name: round(size * needed[name] / few[name]) for name, size in sizes.items()}


@functools.cache  # a spec may have to draw its inputs, and each step asks for it several times
def _tensor_bytes(spec: Spec, case: Case) -> Mapping[str, int]:
    one = arguments(spec, case)
    sizes = {k: v.numel() * v.element_size() for k, v in one.items() if isinstance(v, Tensor)}
    return MappingProxyType(sizes)


@functools.cache
def growing(spec: Spec, axis: int) -> frozenset[str]:
    """Name the tensors that grow with the scored case's rows (`axis` 0) or its columns (-1).

    A tensor that does not grow with the rows, such as one weight for each column, is that of all.
    """
    few = scored_case(spec, FEW)
    shape = list(few.shape)
    shape[axis] *= 2
    sizes, more = _tensor_bytes(spec, few), _tensor_bytes(spec, replace(few, shape=tuple(shape)))
    return frozenset(name for name, size in sizes.items() if more[name] > size)


@functools.cache
def _needed_bytes(spec: Spec, case: Case) -> Mapping[str, int]:
    inputs = spec.inputs(case, LargeDraw(case, "cpu", 0))
    return MappingProxyType(spec.needed_bytes(inputs, _tensor_bytes(spec, case)))


def scored_case(spec: Spec, rows: int) -> Case:
    scored, _ = spec.timed
    return Case((rows, *scored.extents), scored.dtype)


def spare_rows(spec: Spec) -> int:
    return max(1, min(SPARE_ROWS, SPARE_BYTES // bytes_per_row(spec)))


def arena_bytes(spec: Spec, rows: int, calls: int) -> int:
    around = 2 * REDZONE * len(spec.arguments)  # of one slot
    tensors = calls * slot_bytes(spec, rows) + slot_bytes(spec, spare_rows(spec))
    return tensors + (calls + 1) * around + (1 << 20)


def slot_bytes(spec: Spec, rows: int) -> int:
    """Return the bytes of all tensors of a call with so many rows.

    They follow from those of two small cases: some tensors grow with the rows, and others do not.
    """
    few, more = (sum(_tensor_bytes(spec, scored_case(spec, n)).values()) for n in (FEW, 2 * FEW))
    return few + math.ceil((more - few) / FEW * (rows - FEW))
