"""The evidence of a failing case: its inputs and outputs, what its kernels did, its source."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from grader.correctness.acceptance import (
    expect,
    first_mismatch,
    right_elements,
    right_of,
)
from grader.correctness.dtypes import rounded, widened
from grader.correctness.expected import Expected
from grader.correctness.source import Source, computed_at
from grader.correctness.uses import Use, touched
from grader.model import (
    ROUNDED_UP,
    Case,
    Failure,
    Inputs,
    LaunchRef,
    Origin,
    Spec,
    Traced,
    printable,
)

Reference = Callable[[Inputs], Mapping[str, Tensor]]


class OutOfTime(Exception):
    """The search for a cause has used its time: it ends without one."""


@dataclass(frozen=True)
class Witness:
    """One case that was tried, with the kernel's outputs and the right ones.

    `inputs` are those before the call. `unwritten` marks elements that the kernel never wrote.
    """

    spec: Spec
    case: Case
    inputs: Inputs
    outputs: Mapping[str, Tensor]
    expected: Expected
    unwritten: Mapping[str, Tensor]

    @cached_property
    def wrong(self) -> Mapping[str, Tensor]:
        """The wrong elements of each output."""
        return {name: ~right for name, right in right_elements(self.expected, self.outputs)}

    @property
    def fails(self) -> bool:
        return first_mismatch(self.expected, self.outputs, self.unwritten) is not None

    def computes_from(self, inputs: Inputs) -> bool:
        """Say whether the kernel's outputs are the right ones for other inputs."""
        try:
            other = expect(self.spec, self.case, inputs)
            return first_mismatch(other, self.outputs, self.unwritten) is None
        except Exception:  # the reference may not fit them
            return False

    def computes(self, reference: Reference) -> bool:
        """Say whether the kernel's outputs are those of another reference."""
        try:
            other = expect(self.spec, self.case, self.inputs, reference)
            if self.spec.random is not None:
                return self._computes_wrong_ones(other)
            other = _held(other, self.outputs)
            return first_mismatch(other, self.outputs, self.unwritten) is None
        except Exception:  # it may not fit this case, such as inputs of unequal shapes
            return False

    def _computes_wrong_ones(self, other: Expected) -> bool:
        return not any(
            bool((self.wrong[name] & ~right_of(other, name, self.outputs[name])).any())
            for name in self.wrong
        )


def _held(expected: Expected, outputs: Mapping[str, Tensor]) -> Expected:
    """Put infinity where a wrong formula exceeds the output's dtype, as the kernel's store does."""
    held = dict(expected.outputs)
    for name, value in expected.outputs.items():
        if value.is_floating_point():
            stored = rounded(value, outputs[name].dtype).double()
            held[name] = torch.where(stored.isinf(), stored, value)
    return replace(expected, outputs=held)


@dataclass(frozen=True)
class Evidence:
    """All that detectors of causes look at.

    `attempt` runs the kernel on another case, None where that is not possible: cases that differ in
    one thing show what matters. `others` are cases worth trying, because a pattern of few elements
    may be chance. `uses` say which line of the kernel file accesses which elements of an argument,
    empty if nobody has seen that; `complete` says that no access is missing. `twice` marks the
    elements of each argument that two programs or threads stored to. `traced` is the work of single
    threads, in a language that is written for one. `source` is the kernel file, line by line, and
    `threads` says that its language is written for single threads. `rounded_up` is how that
    language rounds up a number of blocks.

    After the `deadline`, a moment of time.monotonic(), all that may take long raises OutOfTime.
    """

    failure: Failure
    spec: Spec
    case: Witness | None
    source: Sequence[str]
    decorator: str = ""
    threads: bool = False
    rounded_up: str = ROUNDED_UP
    uses: tuple[Use, ...] = ()
    complete: bool = False
    twice: Mapping[str, Tensor] = field(default_factory=dict)
    launches: tuple[LaunchRef, ...] | None = None
    origins: Sequence[Origin] = ()
    traced: Traced | None = None
    others: tuple[Case, ...] = ()
    attempt: Callable[[Case], Witness | None] = field(default=lambda case: None)
    deadline: float = math.inf

    def in_time(self) -> None:
        """Raise OutOfTime once the deadline is over."""
        if time.monotonic() > self.deadline:
            raise OutOfTime

    def tried(self, case: Case) -> Witness | None:
        """Return how the kernel does in another case; None where it cannot be tried."""
        self.in_time()
        return self.attempt(case)

    @property
    def main(self) -> Witness:
        """The failing case. Only failures with outputs have one that may be asked for."""
        assert self.case is not None
        return self.case

    @property
    def inputs(self) -> Inputs:
        return self.main.inputs

    @property
    def outputs(self) -> Mapping[str, Tensor]:
        return self.main.outputs

    @property
    def wrong(self) -> Mapping[str, Tensor]:
        return self.main.wrong

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """The failing case, and the others that could be tried."""
        return self.main, *filter(None, map(self.tried, self.others))

    @cached_property
    def again(self) -> Witness | None:
        """The failing case, tried a second time; None where that was not possible."""
        return self.tried(self.main.case)

    def changes(self, name: str) -> Tensor:
        """Mark the elements of an output that the same call gave in another way the second time.

        Those that were written neither time do not count: they hold no result.
        """
        first, again = self.main, self.again
        one = widened(first.outputs[name])
        if again is None or again.outputs[name].shape != one.shape:
            return one.new_zeros(one.shape).bool()
        other, still = widened(again.outputs[name]), first.unwritten.get(name)
        differ = (one != other) & ~(one.isnan() & other.isnan())
        return differ if still is None else differ & ~(still & again.unwritten[name])

    def passes(self, case: Case) -> bool | None:
        """Say whether the kernel is right in another case; None where it cannot be tried."""
        tried = self.tried(case)
        return None if tried is None else not tried.fails

    def computes(self, reference: Reference) -> bool:
        """Say whether the kernel computes another reference, in every case that was tried."""
        self.in_time()
        return self.main.computes(reference) and all(
            witness.computes(reference) for witness in self.witnesses[1:]
        )

    def holds(self, check: Callable[[Witness], bool]) -> bool:
        """Say whether a check holds for the failing case, and for all others that fail."""
        return check(self.main) and all(
            check(witness) for witness in self.witnesses[1:] if witness.fails
        )

    @property
    def bad(self) -> list[str]:
        """The names of the outputs that are wrong."""
        return [name for name, wrong in self.wrong.items() if bool(wrong.any())]

    def line_of(self, argument: str) -> int:
        """Return the line that computes what is stored to the argument, or 0 if it is not known."""
        lines = [use.line for use in self.uses if use.argument == argument and use.writes]
        return computed_at(self.text, max(lines)) if lines else 0

    @property
    def blocks(self) -> set[int]:
        """The numbers of elements that a program or a block of threads handles at a time."""
        if self.traced is None:
            return {use.lanes for use in self.uses if use.lanes > 1}
        sizes = [launch.block for launch in self.traced.launches]
        return {x * y * z for x, y, z in sizes} - {1}

    def read(self, argument: str) -> Tensor | None:
        return touched(self.uses, argument, reading=True)

    def written(self, argument: str) -> Tensor | None:
        return touched(self.uses, argument, reading=False)

    def quoted(self, line: int) -> str:
        """Quote a line of the kernel file: `Line 12 (x = tl.load(p))`."""
        if not 0 < line <= len(self.source):
            return "The kernel"
        return f"Line {line} ({printable(self.source[line - 1].strip())})"

    def see(self, line: int) -> str:
        """Write a sentence that points to a line of the kernel file; empty for any other number."""
        return f" See line{self.quoted(line)[4:]}." if 0 < line <= len(self.source) else ""

    @property
    def text(self) -> Source:
        """The kernel file as its text shows it; nobody executes it."""
        self.in_time()
        return self._text

    @cached_property
    def _text(self) -> Source:
        return Source(self.source, self.decorator)


def exactly(witness: Witness, name: str) -> tuple[Tensor, Tensor]:
    """Return an output and the right one as they are compared, in float64 or int64."""
    return widened(witness.outputs[name]), witness.expected.outputs[name]
