"""The kernel as a callable that runs elsewhere.

`RemoteKernel` puts the arguments into the arena, has the worker call the entry, and compares the
arena itself: outputs are read from it, everything else in it must be as before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from grader.correctness import CaseDraw, bits, output_dtype, with_layout
from grader.model import (
    Argument,
    Case,
    Failure,
    Origin,
    Sightings,
    Spec,
    TensorRef,
    Traced,
    TracedLanes,
)
from grader.sandbox.arena import Arena, Placed, place, view
from grader.sandbox.drawn_inputs import check_inputs
from grader.sandbox.executor import Call, Counts, Executor, KernelFailure
from grader.sandbox.poison import Poison

T = TypeVar("T")
V = TypeVar("V", Tensor, "Tensor | float")

REMEMBERED = 2**16  # elements of the inputs of a run of which a copy is kept


@dataclass(frozen=True)
class Run:
    """The inputs and outputs of one call, and marks where an output was never written."""

    inputs: dict[str, Tensor | float]
    outputs: dict[str, Tensor]
    unwritten: dict[str, Tensor]


@dataclass(frozen=True)
class Watched:
    """A call's outputs, the device's record of it, the places of its arguments, and its failure."""

    outputs: Mapping[str, Tensor]
    sightings: Sightings | None
    layouts: Mapping[str, TensorRef]
    failure: Failure | None


class RemoteKernel:
    """The entry of one kernel file, callable with the judge's tensors.

    Raises KernelFailure if the learner's code is at fault, else CannotGrade or BrokenExercise.
    """

    def __init__(self, spec: Spec, executor: Executor, arena: Arena) -> None:
        self.spec = spec
        self.device = arena.memory.device
        self.poison = Poison.fresh()
        self.last_case: Case | None = None
        self.last_run: Run | None = None
        self._too_long: KernelFailure | None = None
        self._executor = executor
        self._arena = arena

    # -- what tests use

    def inputs(self, case: Case) -> dict[str, Tensor | float]:
        if self._too_long is None:  # else the case that took too long is reported
            self.last_case = case
        inputs = dict(self.spec.inputs(case, CaseDraw(case, self.device)))
        check_inputs(self.spec, inputs)
        return inputs

    def run(
        self, inputs: dict[str, Tensor | float], *, other_order: bool = False
    ) -> dict[str, Tensor]:
        """Call the entry on these inputs; return every argument that it fills.

        Outputs are allocated here; an argument that the kernel overwrites is a copy. With
        `other_order` a simulator runs the programs or blocks of each launch in reverse. A GPU
        chooses the order itself, in each call.
        """
        self.last_run = None
        filled = destinations(self.spec, inputs, self.device)
        self._call([(inputs | filled)[a.name] for a in self.spec.arguments], other_order)
        if sum(v.numel() for v in inputs.values() if isinstance(v, Tensor)) <= REMEMBERED:
            # Copies, because tests change inputs in place from one call to the next.
            self.last_run = Run(_copied(inputs), _copied(filled), self.unwritten(filled))
        return filled

    def __call__(self, *arguments: Tensor | float) -> None:
        """Call the entry. Overwrites the tensors that it fills by the exercise's contract."""
        self._call(arguments)

    def _call(self, arguments: Sequence[Tensor | float], other_order: bool = False) -> None:
        def carry_out(call: Call) -> None:
            self._within_time(lambda: self._executor.call([call], other_order=other_order))

        self._carry_out(arguments, carry_out)

    def run_without_kernels(self, inputs: dict[str, Tensor | float]) -> dict[str, Tensor] | None:
        """Run with every kernel launch disabled.

        Returns None when the file's own code failed because its kernels did nothing.
        """
        filled = destinations(self.spec, inputs, self.device)
        arguments = [(inputs | filled)[a.name] for a in self.spec.arguments]
        # A write elsewhere does not prove a kernel: a kernel may do no more than undo it.
        finished = self._carry_out(arguments, self._executor.without_kernels, anywhere=True)
        return filled if finished else None

    def count(
        self, inputs: dict[str, Tensor | float], *first: dict[str, Tensor | float]
    ) -> tuple[dict[str, Tensor], Counts]:
        """Run in simulation and in a new worker; return the counts, too.

        The calls with the inputs of `first` come before, and are not counted.
        """
        self._executor.close()
        for each in first:
            self.run(each)
        filled = destinations(self.spec, inputs, self.device)
        arguments = [(inputs | filled)[a.name] for a in self.spec.arguments]
        return filled, self._carry_out(
            arguments, lambda call: self._within_time(lambda: self._executor.count(call))
        )

    def trace(
        self, inputs: dict[str, Tensor | float]
    ) -> tuple[dict[str, Tensor], Traced, Failure | None]:
        """Run in simulation and in a new worker; return each thread's work, and any failure.

        A call that fails raises nothing: its failure comes with the work before it, and the outputs
        are then incomplete.
        """
        return self._traced(inputs, self._executor.trace, Traced())

    def trace_lanes(
        self, inputs: dict[str, Tensor | float]
    ) -> tuple[dict[str, Tensor], TracedLanes, Failure | None]:
        """Do as `trace`, for a backend whose programs work on blocks."""
        return self._traced(inputs, self._executor.trace_lanes, TracedLanes())

    def _traced(
        self,
        inputs: dict[str, Tensor | float],
        trace: Callable[[Call], tuple[T, Failure | None]],
        traced: T,
    ) -> tuple[dict[str, Tensor], T, Failure | None]:
        self._executor.close()
        filled = destinations(self.spec, inputs, self.device)
        arguments = [(inputs | filled)[a.name] for a in self.spec.arguments]
        failure: Failure | None = None

        def carry_out(call: Call) -> None:
            nonlocal traced, failure
            traced, failure = trace(call)

        try:
            self._carry_out(arguments, carry_out)
        except KernelFailure as error:
            failure = failure or error.failure
        return filled, traced, failure

    def watch(self, inputs: dict[str, Tensor | float]) -> Watched:
        """Run in simulation once more, and have a device record which line accesses what.

        A call that fails raises nothing: its failure comes with the record of what it did before.
        """
        filled = destinations(self.spec, inputs, self.device)
        arguments = [(inputs | filled)[a.name] for a in self.spec.arguments]
        layouts: dict[str, TensorRef] = {}
        failure = None

        def carry_out(call: Call) -> None:
            layouts.update({each.name: each for each in call if isinstance(each, TensorRef)})
            self._executor.watch(call)

        try:
            self._carry_out(arguments, carry_out)
        except KernelFailure as error:
            failure = error.failure
        return Watched(filled, self._executor.sightings(), layouts, failure)

    def _carry_out(
        self,
        arguments: Sequence[Tensor | float],
        carry_out: Callable[[Call], T],
        *,
        anywhere: bool = False,
    ) -> T:
        """Lay out the arguments, carry out the call, and compare the arena.

        Raises KernelFailure for a write outside of the outputs, unless it may be `anywhere`.
        """
        given = dict(zip(self.spec.arguments, arguments, strict=True))
        tensors = [(a, value) for a, value in given.items() if isinstance(value, Tensor)]
        placed, used = place(self._arena.memory, tensors)
        region = self._arena.memory[:used]
        before = self._fill(region, placed, dict(tensors))
        refs = {p.argument.name: p.ref for p in placed}
        call = [refs[a.name] if isinstance(v, Tensor) else v for a, v in given.items()]
        done = carry_out(call)
        if not anywhere:
            self._check_untouched(region, before, placed)
        for argument, value in tensors:
            if argument.filled:
                there = next(p.view for p in placed if p.argument is argument)
                bits(value).copy_(bits(there))  # a copy of bools would make True of other bytes
        return done

    def _within_time(self, work: Callable[[], T]) -> T:
        """Do the work, unless a call took too long before: another would cost the limit again."""
        if self._too_long is not None:
            raise self._too_long
        try:
            return work()
        except KernelFailure as error:
            if error.failure.kind == "timeout":
                self._too_long = error
            raise

    def unwritten(self, outputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Mark, for each output of the last call, the elements that the kernel never wrote."""
        return {
            argument.name: self.poison.left_in(outputs[argument.name])
            for argument in self.spec.arguments
            if argument.role == "out"
        }

    def origins(self) -> Sequence[Origin]:
        """Return those of undefined values that the last call used, where a device saw them."""
        return self._executor.origins()

    # -- one call

    def _fill(
        self, region: Tensor, placed: Sequence[Placed], values: Mapping[Argument, Tensor]
    ) -> Tensor:
        """Write random bytes everywhere, then inputs, then poison; return a copy for comparison."""
        fresh = torch.Generator(region.device)
        fresh.seed()
        region.view(torch.int64).random_(
            -(2**63), None, generator=fresh
        )  # 5 times as fast as the system's bytes
        self.poison = Poison.fresh()
        for place_ in placed:
            if place_.argument.role == "out":
                self.poison.fill(place_.view)
            else:
                place_.view.copy_(values[place_.argument])
        before = region.clone()
        if self.device.type == "cuda":
            torch.cuda.synchronize()  # nothing else makes another process wait for this one's work
        return before

    def _check_untouched(self, region: Tensor, before: Tensor, placed: Sequence[Placed]) -> None:
        after = region.clone()
        for place_ in placed:
            if place_.argument.filled:
                bits(view(after, place_.ref)).copy_(bits(view(before, place_.ref)))
        if torch.equal(after, before):
            return
        changed = (after != before).nonzero().flatten()
        if len(changed):
            raise KernelFailure(_explain_stray_write(int(changed[0]), placed))


def _copied(values: Mapping[str, V]) -> dict[str, V]:
    return {name: v.clone() if isinstance(v, Tensor) else v for name, v in values.items()}


def destinations(
    spec: Spec, inputs: Mapping[str, Tensor | float], device: torch.device
) -> dict[str, Tensor]:
    """Make a tensor for every argument that the kernel fills; updated arguments are copies."""
    return {a.name: _destination(a, inputs, device) for a in spec.arguments if a.filled}


def _destination(
    argument: Argument, inputs: Mapping[str, Tensor | float], device: torch.device
) -> Tensor:
    if argument.role == "inout":
        source = inputs[argument.name]
        assert isinstance(source, Tensor)
        return torch.empty_strided(
            source.shape, source.stride(), dtype=source.dtype, device=device
        ).copy_(source)
    shape, dtype = argument.shape_for(inputs), output_dtype(argument, inputs)
    if argument.like is None:
        assert shape is not None
        return torch.zeros(shape, dtype=dtype, device=device)
    like = inputs[argument.like]
    assert isinstance(like, Tensor)
    tensors = [one for one in (like, *inputs.values()) if isinstance(one, Tensor)]
    # The output of a vector may have rows, too: they are as far apart as those of another input.
    pads = [one.stride(-2) - one.shape[-1] for one in tensors if one.ndim > 1]
    pad = pads[0] if pads else 0
    # A row stride other than the input's: a kernel that uses one for both is wrong.
    zeros = torch.zeros(like.shape if shape is None else shape, dtype=dtype, device=like.device)
    return with_layout(zeros, pad and pad + 2, 0, device)


def _explain_stray_write(first: int, placed: Sequence[Placed]) -> Failure:
    for place_ in placed:
        name, size = place_.argument.name, place_.view.element_size()
        if place_.start <= first < place_.stop:
            element = (first - place_.start) // size
            if place_.argument.filled:
                row, column = divmod(element, place_.view.stride(-2))
                return Failure(
                    kind="stray_write",
                    message=f"the kernel wrote between the rows of {name}: "
                    f"{_count(column - place_.view.shape[-1] + 1)} past the end of row {row}",
                    hint=f"The rows of {name} are {place_.view.stride(-2)} elements apart and "
                    f"{place_.view.shape[-1]} long: is the mask missing, or another stride used?",
                )
            return Failure(
                kind="input_changed",
                message=f"the kernel changed its input {name} at element {element}",
                hint="Inputs must be as they were; write only to the outputs.",
            )
    nearest = min(placed, key=lambda p: min(abs(first - p.stop), abs(first - p.start)))
    size, name = nearest.view.element_size(), nearest.argument.name
    side = f"{_count((first - nearest.stop) // size + 1)} past the end of {name}"
    if first < nearest.start:
        side = f"{_count((nearest.start - first - 1) // size + 1)} before the start of {name}"
    return Failure(
        kind="stray_write",
        message=f"the kernel wrote out of bounds: {side}",
        hint="Is a mask or `if` missing, or does it allow one element too many?",
    )


def _count(number: int) -> str:
    return "1 element" if number == 1 else f"{number} elements"
