"""The outputs that a kernel should write, with the limits of their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from grader.correctness.dtypes import is_whole
from grader.correctness.error_limits import limits


@dataclass(frozen=True)
class Expected:
    """The outputs that a kernel should write, and what their limits of error are made from.

    `in_float32` holds torch's outputs in float32. All others are float64, or int64 where an output
    holds integers.

    `inherits` names the outputs that may miss more, by what numbers in between have lost.

    `also_right` has the second right integer of each element, for outputs of rounded numbers.

    Of random outputs, `choices` says what to expect of elements that take each of them, with its
    name and probability. The other fields are those of the first choice.
    """

    outputs: Mapping[str, Tensor]
    in_float32: Mapping[str, Tensor]
    magnitude: Mapping[str, Tensor]
    terms: int
    exact: bool
    rounded_once: bool = False
    inherits: frozenset[str] = frozenset()
    choice: str = ""
    probability: float = 1.0
    choices: tuple[Expected, ...] = ()
    also_right: Mapping[str, Tensor] = field(default_factory=dict)


def limit_of(expected: Expected, name: str, got: Tensor) -> Tensor:
    answer = expected.outputs[name]
    if expected.exact or is_whole(got.dtype):
        return torch.zeros_like(answer)
    own, size = expected.in_float32[name].double(), expected.magnitude[name]
    limit, _ = limits(got.dtype, answer, own, size, expected.terms)
    return limit
