"""The scored case of an exercise, and what its arguments take before any memory is theirs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import torch
from torch import Tensor

from grader.correctness import LargeDraw
from grader.model import Case, Spec
from grader.sandbox import REDZONE, destinations

FEW = 64  # rows, of a case from which it follows what one row takes
SPARE_ROWS = 16  # of the call to warm up on: some megabytes, too few to keep anything there


def arguments(spec: Spec, case: Case, draw: LargeDraw) -> dict[str, Tensor | float]:
    """All arguments of one call: of tensors only shape, strides and dtype, on torch's meta device.

    Outputs of the scored case, made as they are for a check, would take half a second and gigabytes
    of the host's memory.
    """
    inputs = {name: _form(value) for name, value in spec.inputs(case, draw).items()}
    return inputs | destinations(spec, inputs, torch.device("meta"))


def _form(value: Tensor | float) -> Tensor | float:
    if not isinstance(value, Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def bytes_per_row(spec: Spec, case: Case | None = None) -> int:
    """What one row (one element, for 1-D arguments) takes in all arguments.

    Of the scored case, or of another with rows as long and of the same dtype.
    """
    few = scored_case(spec, FEW) if case is None else replace(case, shape=(FEW, *case.shape[1:]))
    # What a call has once, such as the answer of a reduction, is lost in the division.
    return max(1, sum(_sizes(spec, few).values()) // FEW)


def rounds(spec: Spec) -> float:
    """How often a call of the scored case has to go over the bytes of its arguments."""
    sizes = _sizes(spec, scored_case(spec, FEW))
    return sum(spec.least_bytes(sizes)) / sum(sizes.values())


@functools.cache  # drawn for that, and asked for several times in each step
def _sizes(spec: Spec, case: Case) -> Mapping[str, int]:
    """Bytes of each tensor of a call."""
    one = arguments(spec, case, LargeDraw(case, "cpu", 0))
    sizes = {k: v.numel() * v.element_size() for k, v in one.items() if isinstance(v, Tensor)}
    return MappingProxyType(sizes)


def scored_case(spec: Spec, rows: int) -> Case:
    scored, _ = spec.timed
    shape = (rows,) if scored.columns is None else (rows, scored.columns)
    return Case(shape, scored.dtype)


def arena_bytes(spec: Spec, rows: int, calls: int) -> int:
    """Bytes of an arena for `Slots` of `rows` rows and so many calls, redzones included."""
    around = 2 * REDZONE * len(spec.arguments)
    return (calls * rows + SPARE_ROWS) * bytes_per_row(spec) + (calls + 1) * around + (1 << 20)
