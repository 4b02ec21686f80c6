"""The elements of each argument that each line of a kernel file reads or writes, as masks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grader.model import Inputs, Sightings, TensorRef, Touched, Traced

KINDS = ("read", "write", "update")  # by the number that `Traced` has for each

MOST_MARKS = 2**26  # bytes of all marks: a worker may name any extents


@dataclass(frozen=True)
class Use:
    """The elements of an argument that one line accesses, marked in a mask of its shape.

    `lanes` is the most that one program of a block language takes part with, active or not, and
    `masked` says if some were not active. `beside` says that elements between rows were touched,
    `packed` that these elements follow each other in memory, as if there were no such gaps. `unset`
    says that elements were read before the call had stored to them.
    """

    line: int
    kind: str
    argument: str
    marks: Tensor
    lanes: int = 1
    masked: bool = False
    programs: int = 1
    beside: bool = False
    packed: bool = False
    unset: bool = False

    @property
    def reads(self) -> bool:
        return self.kind != "write"

    @property
    def writes(self) -> bool:
        return self.kind != "read"


def uses_of_device(sightings: Sightings, layouts: Mapping[str, TensorRef]) -> tuple[Use, ...]:
    return tuple(
        _use(touched, layouts[touched.array])
        for touched in sightings.touched
        if touched.array in layouts
    )


def _use(touched: Touched, layout: TensorRef) -> Use:
    marks, beside = marked(touched.runs, layout)
    packed = beside and touched.runs == ((0, marks.numel()),)
    return Use(
        line=touched.line,
        kind=touched.kind,
        argument=touched.array,
        marks=marks,
        lanes=touched.lanes,
        masked=touched.masked,
        programs=touched.programs,
        beside=beside,
        packed=packed,
        unset=touched.unset,
    )


def twice_by_device(sightings: Sightings, layouts: Mapping[str, TensorRef]) -> Mapping[str, Tensor]:
    """Mark the elements of each argument that two programs stored to."""
    return {
        name: marked(runs, layouts[name])[0]
        for name, runs in sightings.twice.items()
        if name in layouts
    }


def marked(runs: Iterable[tuple[int, int]], layout: TensorRef) -> tuple[Tensor, bool]:
    """Mark runs of elements in memory in a mask of the argument's shape; say if some lie beside."""
    extent = 1 + sum((n - 1) * s for n, s in zip(layout.shape, layout.strides, strict=True))
    flat = torch.zeros(max(0, extent), dtype=torch.bool)
    for first, stop in runs:
        flat[first:stop] = True
    marks = flat.as_strided(layout.shape, layout.strides).clone()
    return marks, int(flat.sum()) > int(marks.sum())


def fitting(traced: Traced, values: Inputs) -> Traced:
    """Return the record without the accesses to arguments that have another shape in it.

    A file may look at an argument in another shape, and a hostile worker may name any; in either
    case nobody knows which elements are meant. Such accesses count as cut.
    """
    shapes = {n: tuple(v.shape) for n, v in values.items() if isinstance(v, Tensor)}
    strange = {
        number
        for number, array in enumerate(traced.arrays)
        if array.space == "argument" and shapes.get(array.name) != tuple(array.shape)
    }
    if not strange:
        return traced
    kept = [n for n, row in enumerate(traced.accesses) if row[4] not in strange]
    left_out = len(traced.accesses) - len(kept)
    return replace(
        traced,
        accesses=tuple(traced.accesses[n] for n in kept),
        values=tuple(traced.values[n] for n in kept) if traced.values else (),
        cut=traced.cut + max(1, left_out),
    )


def uses_of_threads(traced: Traced) -> tuple[Use, ...]:
    """Collect the accesses of single threads by line, kind and argument."""
    found: dict[tuple[int, int, int], set[int]] = {}
    stored: set[tuple[int, int]] = set()
    unset: set[tuple[int, int, int]] = set()
    for _, _, _, _, array, element, kind, line, _ in traced.accesses:
        if traced.arrays[array].space != "argument" or element < 0:
            continue
        found.setdefault((line, kind, array), set()).add(element)
        if KINDS[kind] == "write":
            stored.add((array, element))
        elif (array, element) not in stored:
            unset.add((line, kind, array))
    if sum(math.prod(traced.arrays[array].shape) for _, _, array in found) > MOST_MARKS:
        return ()
    uses = []
    for (line, kind, array), elements in found.items():
        used = traced.arrays[array]
        marks = torch.zeros(used.shape, dtype=torch.bool)
        marks.view(-1)[sorted(elements)] = True
        new = (line, kind, array) in unset
        uses.append(Use(line, KINDS[kind], used.name, marks, unset=new))
    return tuple(uses)


def twice_by_threads(traced: Traced) -> Mapping[str, Tensor]:
    """Mark the elements of each argument that two threads, or two launches, stored to."""
    last: dict[tuple[int, int], tuple[int, ...]] = {}
    found: dict[int, set[int]] = {}
    for launch, _, block, thread, array, element, kind, _, _ in traced.accesses:
        if KINDS[kind] != "write" or element < 0 or traced.arrays[array].space != "argument":
            continue
        before = last.setdefault((array, element), (launch, block, thread))
        if before != (launch, block, thread):
            found.setdefault(array, set()).add(element)
    if sum(math.prod(traced.arrays[array].shape) for array in found) > MOST_MARKS:
        return {}
    marks = {traced.arrays[n].name: torch.zeros(traced.arrays[n].shape).bool() for n in found}
    for array, elements in found.items():
        marks[traced.arrays[array].name].view(-1)[sorted(elements)] = True
    return marks


def touched(uses: Sequence[Use], argument: str, *, reading: bool) -> Tensor | None:
    """Mark the elements of an argument that any line reads (or writes); None where no line does."""
    masks = [u.marks for u in uses if u.argument == argument and (u.reads if reading else u.writes)]
    return torch.stack(masks).any(0) if masks else None
