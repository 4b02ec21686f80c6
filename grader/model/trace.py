"""The record of one small case's accesses, `grader/trace/v1`, from which pictures are drawn.

The published schema is docs/trace.schema.json; `python -m grader.model.trace` prints it. A trace is
validated when it is read: each thread, array and element that an access names exists.

Threads and blocks are counted as CUDA counts them, x first: thread (x, y, z) of a block of (w, h,
d) threads is number `x + w * (y + h * z)`. Elements are counted in C order.

A kernel whose `unit` is lanes is written for blocks of elements: its programs are the blocks here,
their lanes the threads. Its accesses belong to acts: one program executes one operation once.
"""

from __future__ import annotations

import json
from math import prod
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from grader.model.record import Record
from grader.model.results import Failure
from grader.model.traced_lanes import OperationKind

Count = Annotated[int, Field(ge=0)]
Extent = Annotated[int, Field(ge=1)]
Dims = tuple[Extent, Extent, Extent]
Kind = Literal["read", "write", "update"]
TraceFault = Literal["", "out_of_bounds", "race", "uninitialised", "from_end", "undefined"]


class Turn(Record):
    """One turn of a loop of the kernel file, counted from 0."""

    line: Count = Field(description="of `source`, from 1; 0: not known")
    turn: Count


class Part(Record):
    """One step of a launch of programs: `loops` are those around it, outermost first."""

    loops: tuple[Turn, ...] = ()


class Launch(Record):
    """One launch of a kernel."""

    kernel: str
    grid: Dims = Field(description="blocks along x, y and z")
    block: Dims = Field(
        description="threads of a block along x, y and z; for lanes, those of the largest operation"
    )
    parts: tuple[Part, ...] = Field(default=(), description="for lanes, the launch's steps")


class Array(Record):
    """An array that threads touched, or an argument that they should have touched.

    Names are unique. A shared array exists once in each block of each launch: the accesses say
    which. `shape` may be (), which is one element.
    """

    name: str
    space: Literal["global", "shared"]
    shape: tuple[Count, ...]
    role: Literal["in", "out", "inout", "scratch", "shared"]


class Operation(Record):
    """A load, store, atomic or reduction in a kernel's text, whether a program got there or not."""

    launch: Count = Field(description="index into `launches`")
    kind: OperationKind
    line: Extent | None = Field(description="of `source`, from 1; null: not known")
    name: str = Field(default="", description="the variable that the line assigns the result to")
    shape: tuple[Count, ...] = Field(description="of its block of lanes; () is a scalar")


class Act(Record):
    """One program executes one operation once."""

    launch: Count = Field(description="index into `launches`")
    step: Count = Field(description="index into the launch's `parts`")
    block: Count = Field(description="the program, x first")
    operation: Count = Field(description="index into `operations`")
    active: Count = Field(description="lanes that take part; not all may have an access listed")
    other: str | None = Field(
        default=None, description="what a load's other lanes get; null: nothing defined"
    )
    results: tuple[str, ...] = Field(default=(), description="of a reduction, the first ones")
    stopped: bool = Field(default=False, description="whether an error stopped it")


class Stopped(Record):
    """The place where an error ended the simulation, and what therefore never ran."""

    launch: Count = Field(description="index into `launches`")
    step: Count
    block: Count
    threads: tuple[Count, ...] = Field(description="of the block, which did not act in this step")
    blocks: tuple[Count, ...] = Field(description="of the launch, which did not begin")
    operations: tuple[Count, ...] = Field(
        default=(), description="for lanes, of the launch: indices into `operations`"
    )


class Access(Record):
    """One thread touches one element. An `update` is atomic: it reads and writes in one."""

    launch: Count = Field(description="index into `launches`")
    step: Count = Field(description="barriers that the block has passed")
    block: Count = Field(description="its number in the grid, x first")
    thread: Count = Field(description="its number in the block, x first")
    array: Count = Field(description="index into `arrays`")
    element: Count | None = Field(description="in C order; null: out of bounds")
    index: tuple[int, ...] = Field(
        default=(), description="as the kernel wrote it; needed only where `element` is null"
    )
    kind: Kind
    line: Extent | None = Field(description="of `source`, from 1; null: not known")
    fault: TraceFault = Field(
        default="",
        description="from_end: in a call that failed, an index below 0 led here; "
        "undefined: a value is stored that no load defined",
    )
    value: str = Field(default="", description="read, or left there; empty: not known")
    act: Count | None = Field(default=None, description="for lanes, index into `acts`")


class Wrong(Record):
    """An element with a wrong value."""

    element: Count
    expected: str
    got: str


class Trace(Record):
    """The accesses of one small case, in the order in which the simulator ran the threads."""

    schema_: Literal["grader/trace/v1"] = Field(default="grader/trace/v1", alias="schema")
    exercise: str
    case: str = Field(description="the case in words")
    source: tuple[str, ...] = Field(description="the lines of the kernel file")
    launches: tuple[Launch, ...] = ()
    arrays: tuple[Array, ...] = ()
    accesses: tuple[Access, ...] = ()
    unit: Literal["threads", "lanes"] = "threads"
    operations: tuple[Operation, ...] = Field(default=(), description="for lanes, in their order")
    acts: tuple[Act, ...] = Field(default=(), description="for lanes, in the order of execution")
    stopped: Stopped | None = None
    failure: Failure | None = None
    wrong: dict[str, tuple[Wrong, ...]] = Field(
        default={}, description="by name of the array: elements written, with a wrong value"
    )
    unwritten: dict[str, tuple[Count, ...]] = Field(
        default={}, description="by name of the array: elements never written that should have been"
    )
    cut: Count = Field(default=0, description="number of further accesses, which are not listed")

    @model_validator(mode="after")
    def _is_whole(self) -> Trace:
        sizes = {array.name: size(array) for array in self.arrays}
        if len(sizes) < len(self.arrays):
            raise ValueError("two arrays have one name")
        for number, act in enumerate(self.acts):
            if error := _error_of_act(self, act):
                raise ValueError(f"act {number}: {error}")
        for number, access in enumerate(self.accesses):
            if error := _error(self, access):
                raise ValueError(f"access {number}: {error}")
        if error := _error_of_stop(self):
            raise ValueError(error)
        for name, element in [
            *((name, wrong.element) for name, some in self.wrong.items() for wrong in some),
            *((name, element) for name, some in self.unwritten.items() for element in some),
        ]:
            if element >= sizes.get(name, 0):
                raise ValueError(f"there is no element {element} in an array {name!r}")
        return self


def _error(trace: Trace, access: Access) -> str:
    if access.launch >= len(trace.launches):
        return "no such launch"
    launch = trace.launches[access.launch]
    if access.block >= prod(launch.grid) or access.thread >= prod(launch.block):
        return "no such thread"
    if access.array >= len(trace.arrays):
        return "no such array"
    if access.element is not None and access.element >= size(trace.arrays[access.array]):
        return "no such element"
    if (access.element is None) != (access.fault == "out_of_bounds"):
        return "an access without an element is out of bounds, and no other one is"
    if access.line is not None and access.line > len(trace.source):
        return "no such line"
    if access.act is not None:
        if access.act >= len(trace.acts):
            return "no such act"
        act = trace.acts[access.act]
        if (act.launch, act.step, act.block) != (access.launch, access.step, access.block):
            return "of another act"
    return ""


def _error_of_act(trace: Trace, act: Act) -> str:
    if act.launch >= len(trace.launches) or act.operation >= len(trace.operations):
        return "no such launch or operation"
    launch, operation = trace.launches[act.launch], trace.operations[act.operation]
    if operation.launch != act.launch:
        return "an operation of another launch"
    if act.block >= prod(launch.grid) or act.step >= len(launch.parts):
        return "no such program or part"
    return "more lanes than there are" if act.active > prod(operation.shape) else ""


def _error_of_stop(trace: Trace) -> str:
    if any(
        operation.launch >= len(trace.launches) or (operation.line or 0) > len(trace.source)
        for operation in trace.operations
    ):
        return "an operation in no launch or line"
    stop = trace.stopped
    if stop is None:
        return ""
    if stop.launch >= len(trace.launches):
        return "stopped in no launch"
    launch = trace.launches[stop.launch]
    blocks, threads = prod(launch.grid), prod(launch.block)
    if any(n >= blocks for n in (stop.block, *stop.blocks)) or any(
        n >= threads for n in stop.threads
    ):
        return "no such thread or block was stopped"
    return "no such operation" if any(n >= len(trace.operations) for n in stop.operations) else ""


def trace_json(trace: Trace, indent: int | None = None) -> str:
    return trace.model_dump_json(by_alias=True, indent=indent)


def parse_trace(text: str | bytes) -> Trace:
    """Read a trace. Raises pydantic.ValidationError for anything but a trace of this version."""
    return Trace.model_validate_json(text)


def json_schema() -> dict[str, Any]:
    schema = Trace.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def size(array: Array) -> int:
    return prod(array.shape)


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))
