"""Launches carried out: a worker's request becomes programs, values and memory that execute."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from grader.backends.triton.device.calls import Call
from grader.backends.triton.device.effort import Effort
from grader.backends.triton.device.faults import Malformed, NotSimulated
from grader.backends.triton.device.lane_log import LoggedMemory
from grader.backends.triton.device.mappings import Mapping
from grader.backends.triton.device.memory import Memory
from grader.backends.triton.device.plan import Program
from grader.backends.triton.device.printed import Printed
from grader.backends.triton.device.races import Races
from grader.backends.triton.device.requests import (
    Described,
    Given,
    Requested,
    Storage,
    UnexpectedMessage,
)
from grader.backends.triton.device.run import Launch, execute
from grader.backends.triton.device.ttir.parse import parse
from grader.backends.triton.device.ttir.records import Function, Type
from grader.backends.triton.device.values import Descriptor, Value, dtype_of
from grader.model import Specialisation
from grader.worker.bounds import Span

Bytes = NDArray[np.uint8]
MOST_PROGRAMS = 2**31 - 2  # their numbers have 32 bits, and 0 is nobody's
MOST_TEXT = 64 << 20  # characters of all the kernels that one worker may send


class Device:
    """The memory that the device shares with one worker, and the programs that it was sent."""

    def __init__(self, arena: Bytes, scratch: Bytes) -> None:
        self._arena = arena
        self._scratch = scratch
        self._programs: dict[str, Program] = {}
        self._texts: dict[str, str] = {}
        self.printed = Printed()
        self.effort = Effort()
        self.start = 0  # the worker's address of the arena, once it has mapped that

    def map(self, start: int) -> None:
        """Take the worker's address of the arena. Raises UnexpectedMessage if it changes.

        With another one, an argument's address could name the memory of another argument.
        """
        if self.start not in (0, start):
            raise UnexpectedMessage("the memory of the arguments at another address than before")
        self.start = start

    def receive(self, request: Requested) -> None:
        """Take in the text of a request. Raises UnexpectedMessage if our driver sends no such."""
        if request.text is not None:
            if sum(map(len, self._texts.values())) + len(request.text) > MOST_TEXT:
                raise UnexpectedMessage("more kernels than any file has")
            self._texts[request.digest] = request.text
        if request.digest not in self._texts:
            raise UnexpectedMessage("a kernel that was not sent")
        for storage in request.storages:
            if storage.offset + storage.size > self._scratch.size:
                raise UnexpectedMessage("memory outside of the scratch memory")
            if storage.address < self.start + self._arena.size and (
                self.start < storage.address + storage.size
            ):
                raise UnexpectedMessage("memory of the judge's as the file's own")
        used = sorted((each.offset, each.offset + each.size) for each in request.storages)
        if any(stop > start for (_, stop), (start, _) in pairwise(used)):
            raise UnexpectedMessage("one piece of memory at two addresses, which could hide a race")

    def launch(self, request: Requested, call: Call) -> None:
        """Check a launch, and execute its programs unless the call withholds them.

        A benchmark's trial executes, as on a GPU. In a call whose traffic is counted it is only
        checked, or traffic could hide in it. Raises a Fault.
        """
        if math.prod(request.grid) > MOST_PROGRAMS:
            raise NotSimulated(f"grids of {math.prod(request.grid):,} programs")
        program = self._program(request.digest)
        values = _values(program.module.entry, request.arguments)
        memory = self._memory(request, call)
        if request.trial and call.traffic is not None:
            return
        call.began(request)
        text = self._texts[request.digest]
        call.specialisations.setdefault(
            (request.kernel, request.digest, request.options),
            Specialisation(request.kernel, text, request.options, request.trial),
        )
        if call.withhold:
            return
        if call.log is not None:
            scratch = [Span(s.address, s.address + s.size, s.name) for s in request.storages]
            call.log.begin_launch(request.kernel, request.grid, program.module, scratch)
        launch = Launch(
            program,
            request.grid,
            memory,
            request.warps,
            call.backwards,
            self.printed,
            self.effort,
        )
        execute(launch, values)

    def _program(self, digest: str) -> Program:
        if digest not in self._programs:
            self._programs[digest] = Program(parse(self._texts[digest]))
        return self._programs[digest]

    def _memory(self, request: Requested, call: Call) -> Memory:
        arena = Mapping(self.start, self._arena)
        own = [Mapping(each.address, self._data(each)) for each in request.storages]
        scratch = [Span(s.address, s.address + s.size, s.name) for s in request.storages]
        spans = [*call.spans, *scratch]
        kind = Memory if call.log is None else partial(LoggedMemory, call.log)
        return kind(
            [arena, *own],
            spans,
            races=Races(spans, request.grid, call.source),
            traffic=call.traffic,
            provenance=call.provenance,
            recorder=call.recorder,
            source=call.source,
            scratch=scratch,
        )

    def _data(self, storage: Storage) -> Bytes:
        return self._scratch[storage.offset : storage.offset + storage.size]


def _values(function: Function, given: tuple[Given, ...]) -> list[Value]:
    """Return the values of a function's arguments. Raises Malformed where they do not fit."""
    if len(given) != len(function.arguments):
        raise Malformed(f"{len(given)} arguments for {len(function.arguments)} parameters")
    return [_value(one, type_) for one, (_, type_) in zip(given, function.arguments, strict=True)]


def _value(given: Given, type_: Type) -> Value:
    if isinstance(given, Described):
        return _descriptor(given, type_)
    if type_.shape is not None or type_.element == "tensordesc":
        raise Malformed("an argument of another type")
    wide = torch.float64 if isinstance(given, float) else torch.int64
    dtype = dtype_of(type_)
    if dtype.is_floating_point != wide.is_floating_point:
        raise Malformed("an argument of another type")
    return torch.tensor([given], dtype=wide).to(dtype)


def _descriptor(given: Described, type_: Type) -> Descriptor:
    if type_.element != "tensordesc" or type_.pointee is None:
        raise Malformed("an argument of another type")
    return Descriptor(
        base=torch.tensor([given.base]),
        shape=tuple(torch.tensor([extent]) for extent in given.shape),
        strides=tuple(torch.tensor([stride]) for stride in given.strides),
        block=type_.pointee,
        padding=given.padding,
    )
