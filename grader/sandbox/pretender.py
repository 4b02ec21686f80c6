"""Answers without any work, with which `grader verify` tests an exercise's own judgement.

Each fills the outputs in the judge itself, without a worker. A spec that accepts one of them on its
cases is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from grader.correctness import is_whole, widened
from grader.model import (
    Failure,
    Inputs,
    Origin,
    Sightings,
    Spec,
    Specialisation,
    TensorRef,
    Traced,
    TracedLanes,
)
from grader.sandbox.arena import Arena, view
from grader.sandbox.executor import Call, Counts

# Bits of significand that survive in the next lower precision: float32 through float16, float16
# through bfloat16, others through about half of their own.
LOWER_BITS = {
    torch.float32: 11,
    torch.float16: 8,
    torch.bfloat16: 4,
    torch.float8_e4m3fn: 2,
    torch.float8_e5m2: 1,
}

Answer = Callable[[Spec, Inputs, Mapping[str, Tensor]], None]


def zeros(spec: Spec, inputs: Inputs, outputs: Mapping[str, Tensor]) -> None:
    for out in outputs.values():
        out.zero_()


def ones(spec: Spec, inputs: Inputs, outputs: Mapping[str, Tensor]) -> None:
    for out in outputs.values():
        out.fill_(1.0)


def nan(spec: Spec, inputs: Inputs, outputs: Mapping[str, Tensor]) -> None:
    """Fill the outputs with NaN; integers get the 0 that a GPU makes of it."""
    for out in outputs.values():
        out.fill_(0 if is_whole(out.dtype) else torch.nan)


def first_input(spec: Spec, inputs: Inputs, outputs: Mapping[str, Tensor]) -> None:
    source = widened(next(v for v in inputs.values() if isinstance(v, Tensor)).flatten())
    for out in outputs.values():
        times = -(-out.numel() // source.numel())
        out.copy_(source.repeat(times)[: out.numel()].reshape(out.shape))


def untouched(spec: Spec, inputs: Inputs, outputs: Mapping[str, Tensor]) -> None:
    """Leave the outputs as they are."""


def constant_mean(spec: Spec, inputs: Inputs, outputs: Mapping[str, Tensor]) -> None:
    for name, answer in spec.reference(_in_float64(inputs)).items():
        outputs[name].copy_(widened(answer).double().mean(-1, keepdim=True).expand_as(answer))


def lower_precision(spec: Spec, inputs: Inputs, outputs: Mapping[str, Tensor]) -> None:
    """Compute in the next lower precision: inputs and outputs have fewer digits.

    The range of the exponents stays, so nothing overflows.
    """
    coarse = {
        name: _rounded(value, value.dtype) if isinstance(value, Tensor) else value
        for name, value in inputs.items()
    }
    for name, answer in spec.reference(_in_float64(coarse)).items():
        outputs[name].copy_(_rounded(answer, outputs[name].dtype))


def _in_float64(inputs: Inputs) -> dict[str, Tensor | float]:
    return {
        name: value.double() if isinstance(value, Tensor) and value.is_floating_point() else value
        for name, value in inputs.items()
    }


def _rounded(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Round to the digits of the precision below `dtype`, in float64; integers stay as they are."""
    if dtype not in LOWER_BITS:
        return values
    significand, exponent = torch.frexp(values.double())
    scale = 2.0 ** LOWER_BITS[dtype]
    return torch.ldexp((significand * scale).round() / scale, exponent)


ANSWERS: dict[str, Answer] = {
    "zeros": zeros,
    "ones": ones,
    "nan": nan,
    "constant_mean": constant_mean,
    "first_input": first_input,
    "untouched": untouched,
    "lower_precision": lower_precision,
}


class Pretender:
    """An executor that gives one of the ANSWERS, in the judge itself."""

    def __init__(self, spec: Spec, answer: Answer, arena: Arena) -> None:
        self._spec = spec
        self._answer = answer
        self._memory = arena.memory

    def load(self) -> None:
        """Load nothing."""

    def call(self, calls: Sequence[Call], *, other_order: bool = False) -> None:
        for call in calls:
            values = {
                argument.name: view(self._memory, sent) if isinstance(sent, TensorRef) else sent
                for argument, sent in zip(self._spec.arguments, call, strict=True)
            }
            filled = {a.name for a in self._spec.arguments if a.filled}
            inputs = {
                a.name: _copy(values[a.name]) for a in self._spec.arguments if a.role != "out"
            }
            outputs = {name: v for name, v in values.items() if name in filled}
            self._answer(self._spec, inputs, outputs)  # type: ignore[arg-type]

    def without_kernels(self, call: Call) -> bool:
        self.call([call])  # there are none
        return True

    def count(self, call: Call) -> Counts:
        return Counts({}, 0)  # nothing runs that could be counted

    def trace(self, call: Call) -> tuple[Traced, Failure | None]:
        return Traced(), None  # nor does any thread do anything

    def trace_lanes(self, call: Call) -> tuple[TracedLanes, Failure | None]:
        return TracedLanes(), None

    def watch(self, call: Call) -> None:
        self.call([call])

    def sightings(self) -> Sightings | None:
        return None

    def kernels(self) -> Sequence[Specialisation]:
        return ()

    def origins(self) -> Sequence[Origin]:
        return ()

    def close(self) -> str:
        return ""


def _copy(value: Tensor | float) -> Tensor | float:
    return value.clone() if isinstance(value, Tensor) else value
