"""The kernel as a callable that runs elsewhere.

`RemoteKernel` puts the arguments into the arena, asks the worker to call the entry, and looks for
itself at what changed: outputs are read from the arena, everything else there must be as before.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from grader.arena import Arena, Placed, place
from grader.inputs import DTYPES, CaseDraw, with_layout
from grader.results import Failure, Frame
from grader.sandbox import Nursery, Worker, describe_end
from grader.spec import Argument, Case, Inputs, Spec
from grader.wire import Closed, Fault, Reply, TensorRef, TimedOut, WireError

CEILING_ON_OUTPUT = 4096  # characters of the learner's prints that a result keeps


class KernelFailure(Exception):
    """The learner's kernel did something wrong; `failure` says what, in words for the learner."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class Poison:
    """The bit pattern that outputs hold before a call: a NaN that no arithmetic makes."""

    bits: int  # of a float32 NaN, of which 16-bit dtypes take the upper half

    @classmethod
    def fresh(cls) -> Poison:
        # A quiet NaN with random payload, so that nobody can write the pattern on purpose. Of the
        # upper half, which 16-bit dtypes take, one bit is set and one is clear: the NaNs that
        # arithmetic makes have all payload bits clear on a CPU, and all set on a GPU.
        payload = random.SystemRandom().randrange(1 << 22) & ~(1 << 17) | 1 << 16
        return cls(0x7FC00000 | payload)

    def fill(self, view: Tensor) -> None:
        bits, pattern = self._as_bits(view)
        bits.fill_(pattern)

    def left_in(self, view: Tensor) -> Tensor:
        """Which elements still hold the pattern."""
        bits, pattern = self._as_bits(view)
        return bits == pattern

    def _as_bits(self, view: Tensor) -> tuple[Tensor, int]:
        if view.dtype == torch.float32:
            return view.view(torch.int32), self.bits
        if view.dtype == torch.float16:
            return view.view(torch.int16), 0x7E00 | (self.bits >> 16) & 0x1FF
        return view.view(torch.int16), self.bits >> 16


class RemoteKernel:
    """The entry of one kernel file, callable with tensors of the judge.

    Raises KernelFailure whenever the learner's code is at fault, CannotGrade and BrokenExercise
    when it is not. After a crash the next call starts a new worker.
    """

    def __init__(self, spec: Spec, kernel: bytes, nursery: Nursery, arena: Arena) -> None:
        self.spec = spec
        self.device = arena.memory.device
        self.poison = Poison.fresh()
        self.last_case: Case | None = None
        self._kernel = kernel
        self._nursery = nursery
        self._arena = arena
        self._worker: Worker | None = None
        self._sequence = 0
        self._printed = ""

    # -- what tests use

    def inputs(self, case: Case) -> dict[str, Tensor | float]:
        """The inputs that the exercise draws for a case."""
        self.last_case = case
        return dict(self.spec.inputs(case, CaseDraw(case, self.device)))

    def run(self, inputs: Inputs) -> dict[str, Tensor]:
        """Call the entry on these inputs; returns every argument that it fills.

        Outputs are allocated here; an argument that the kernel overwrites is a copy.
        """
        filled = {a.name: self._destination(a, inputs) for a in self.spec.arguments if a.filled}
        self(*(filled.get(a.name, inputs.get(a.name)) for a in self.spec.arguments))
        return filled

    def __call__(self, *arguments: Tensor | float | None) -> None:
        """Call the entry. Tensors that the exercise's contract says it fills are overwritten."""
        given = dict(zip(self.spec.arguments, arguments, strict=True))
        tensors = [(a, value) for a, value in given.items() if isinstance(value, Tensor)]
        placed, used = place(self._arena.memory, tensors)
        region = self._arena.memory[:used]
        before = self._fill(region, placed, dict(tensors))
        refs = {p.argument.name: p.ref for p in placed}
        self._ask("call", calls=[[_sent(a, v, refs) for a, v in given.items()]])
        self._check_untouched(region, before, placed)
        for argument, value in tensors:
            if argument.filled:
                value.copy_(next(p.view for p in placed if p.argument is argument))

    def unwritten(self, outputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """For each output of the last call, which elements the kernel never wrote."""
        return {
            argument.name: self.poison.left_in(outputs[argument.name])
            for argument in self.spec.arguments
            if argument.role == "out"
        }

    # -- what the judge uses

    def load(self) -> None:
        """Start a worker and import the kernel file in it."""
        self._worker = self._nursery.fork(getattr(self._arena, "fd", None))
        path = self._nursery.home_for(self._kernel)
        self._exchange("map", self.spec.limits.load_s, ticket=self._arena.ticket())
        self._exchange(
            "load",
            self.spec.limits.load_s,
            path=str(path),
            entry=self.spec.entry,
            parameters=[a.name for a in self.spec.arguments],
        )

    def close(self) -> str:
        """End the worker and all that it started; returns the first part of what it printed."""
        self._end()
        return self._printed

    # -- one call

    def _destination(self, argument: Argument, inputs: Inputs) -> Tensor:
        if argument.role == "inout":
            source = inputs[argument.name]
            assert isinstance(source, Tensor)
            copy = torch.empty_strided(
                source.shape, source.stride(), dtype=source.dtype, device=source.device
            )
            return copy.copy_(source)
        like = inputs[argument.like] if argument.like else None
        shape = argument.shape or (tuple(like.shape) if isinstance(like, Tensor) else (1,))
        dtype = DTYPES[argument.dtype] if argument.dtype else like.dtype  # type: ignore[union-attr]
        # Another row stride than the input's: a kernel that uses one for both is wrong.
        pad = 0
        if isinstance(like, Tensor) and like.ndim > 1 and len(shape) == like.ndim:
            pad = like.stride(-2) - like.shape[-1]
        pad = pad + 2 if pad else 0
        return with_layout(torch.zeros(shape, dtype=dtype), pad, 0, self.device)

    def _fill(
        self, region: Tensor, placed: Sequence[Placed], values: Mapping[Argument, Tensor]
    ) -> Tensor:
        """Random bytes everywhere, then inputs, then poison; returns a copy to compare with."""
        region.copy_(torch.frombuffer(bytearray(os.urandom(region.numel())), dtype=torch.uint8))
        self.poison = Poison.fresh()
        for place_ in placed:
            if place_.argument.role == "out":
                self.poison.fill(place_.view)
            else:
                place_.view.copy_(values[place_.argument])
        return region.clone()

    def _check_untouched(self, region: Tensor, before: Tensor, placed: Sequence[Placed]) -> None:
        after = region.clone()
        for place_ in placed:
            if place_.argument.filled:
                _same_view(after, place_).copy_(_same_view(before, place_))
        changed = (after != before).nonzero().flatten()
        if len(changed):
            raise KernelFailure(_explain_stray_write(int(changed[0]), len(changed), placed))

    # -- talking to the worker

    def _ask(self, operation: str, **message: object) -> Reply:
        if self._worker is None:
            self.load()
        return self._exchange(operation, self.spec.limits.call_s, **message)

    def _exchange(self, operation: str, limit_s: float, **message: object) -> Reply:
        assert self._worker is not None
        self._sequence += 1
        try:
            self._worker.channel.send({"op": operation, "seq": self._sequence, **message})
            reply = Reply.parse(self._worker.channel.receive(limit_s))
        except TimedOut:
            self._end()
            raise KernelFailure(_too_long(operation, limit_s)) from None
        except Closed:
            raise KernelFailure(_ended(operation, self._end())) from None
        except WireError as error:
            self._end()
            raise KernelFailure(_broke_protocol(str(error))) from None
        if reply.seq != self._sequence:
            self._end()
            raise KernelFailure(_broke_protocol(f"an answer to message {reply.seq}"))
        if reply.fault is not None:
            # Its memory may be in any state: the next call gets a new worker.
            self._end()
            raise KernelFailure(_told(reply.fault))
        return reply

    def _end(self) -> int | None:
        if self._worker is None:
            return None
        status = self._nursery.kill()
        self._printed = (self._printed + self._worker.close())[:CEILING_ON_OUTPUT]
        self._worker = None
        return status


def _sent(
    argument: Argument, value: Tensor | float | None, refs: Mapping[str, TensorRef]
) -> object:
    return asdict(refs[argument.name]) if isinstance(value, Tensor) else value


def _same_view(region: Tensor, placed: Placed) -> Tensor:
    window = region[placed.start : placed.stop].view(placed.view.dtype)
    return window.as_strided(placed.view.shape, placed.view.stride())


def _explain_stray_write(first: int, count: int, placed: Sequence[Placed]) -> Failure:
    """Which rule a write outside of the outputs broke."""
    for place_ in placed:
        name, size = place_.argument.name, place_.view.element_size()
        if place_.start <= first < place_.stop:
            element = (first - place_.start) // size
            if place_.argument.filled:
                row, column = divmod(element, place_.view.stride(-2))
                return Failure(
                    kind="stray_write",
                    message=f"the kernel wrote between the rows of {name}: after row {row}, "
                    f"{column - place_.view.shape[-1]} elements past its end",
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
    distance = (first - nearest.stop) // size + 1
    side = f"{distance} elements past the end of {name}"
    if first < nearest.start:
        side = f"{(nearest.start - first - 1) // size + 1} elements before the start of {name}"
    return Failure(
        kind="stray_write",
        message=f"the kernel wrote out of bounds: {side} ({count} bytes changed)",
        hint="Is the mask missing, or does it allow one element too many?",
    )


def _too_long(operation: str, limit_s: float) -> Failure:
    doing = "importing the file" if operation in ("load", "map") else "one call"
    return Failure(
        kind="timeout",
        message=f"{doing} took longer than {limit_s:g} s and was stopped",
        hint="Look for a loop that never ends, or a kernel that waits for itself.",
    )


def _ended(operation: str, status: int | None) -> Failure:
    doing = "while the file was imported" if operation in ("load", "map") else "during a call"
    if status is not None and os.WIFEXITED(status):
        return Failure(
            kind="exit",
            message=f"the process that runs the kernel {describe_end(status)} {doing}",
            hint="A kernel returns; it does not end the process. Ending it counts as a failure.",
        )
    return Failure(
        kind="crash",
        message=f"the process that runs the kernel {describe_end(status)} {doing}",
        hint="Most crashes are accesses out of bounds: check each mask and each offset.",
    )


def _broke_protocol(what: str) -> Failure:
    return Failure(
        kind="protocol",
        message=f"the process that runs the kernel answered with something else: {what}",
        hint="A kernel file must leave the open files of its process alone.",
    )


def _told(fault: Fault) -> Failure:
    frames = tuple(Frame(line=line, function=f, code=code) for line, f, code in fault.frames)
    return Failure(
        kind=fault.kind, message=fault.message, frames=frames, hint=HINTS.get(fault.kind)
    )


HINTS = {
    "not_started": "This part is yours to write: the lesson in README.md says what it should do.",
    "syntax": "Python stops at the first line that it cannot read; look at the line before, too.",
    "import": "Only torch, triton, numba and numpy are at hand for a kernel.",
    "compile": "Triton could not compile the kernel; the line it names is the place to look.",
    "out_of_bounds": "Each load and each store needs a mask that keeps it inside its tensor.",
    "out_of_memory": "The kernel may allocate only a little beyond its arguments.",
}

