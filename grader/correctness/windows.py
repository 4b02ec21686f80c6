"""The numbers of a failing case: windows of its arguments around the first wrong element."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from grader.correctness.acceptance import mismatches, right_of
from grader.correctness.choices import nearest
from grader.correctness.dtypes import NAMES, has_unused_nan, is_whole, rounded, widened
from grader.correctness.expected import Expected
from grader.correctness.inputs import CaseDraw
from grader.correctness.mismatch import Mismatch, describe_where, unravel_index
from grader.model import (
    MOST_VALUES,
    MOST_WHOLE,
    Case,
    Compared,
    Inputs,
    Number,
    Numbers,
    Spec,
    Values,
)

# Distinct extents of a case: they show how the axes of its arguments depend on one another.
PROBE = (3, 5, 7, 11, 13)

Shape = tuple[int, ...]
Axes = tuple[int | None, ...]
Spans = tuple[tuple[int, int], ...]  # start and length along each axis


@dataclass(frozen=True)
class _Frame:
    """The output with which all windows run, and the place in it that they show."""

    output: str
    shape: Shape
    place: Shape
    axes: Mapping[str, Axes]

    def spans(self, name: str, shape: Shape) -> Spans:
        if prod(shape) <= MOST_WHOLE:
            return tuple((0, extent) for extent in shape)
        axes = self.running(name, shape)
        places = [0 if axis is None else self.place[axis] for axis in axes]
        own = [_from_end(axis, shape) for axis in range(len(shape))]
        shared = [
            mine if axis is None else _from_end(axis, self.shape)
            for mine, axis in zip(own, axes, strict=True)
        ]
        spans = tuple(map(_span, shape, places, shared))
        if prod(length for _, length in spans) > MOST_VALUES:
            spans = tuple(map(_span, shape, places, own))
        return spans

    def running(self, name: str, shape: Shape) -> Axes:
        """Return the axis of the frame's output with which each axis runs, as long as this one."""
        return tuple(
            axis if axis is not None and self.shape[axis] == extent else None
            for axis, extent in zip(self.axes[name], shape, strict=True)
        )


def _from_end(axis: int, shape: Shape) -> int:
    """Count the axes further in: a matrix of one column is as good as a vector."""
    return sum(extent > 1 for extent in shape[axis + 1 :])


def _span(extent: int, place: int, from_end: int) -> tuple[int, int]:
    """Return eight columns, three rows or one of an axis further out, with what lies before."""
    most, before = ((8, 3), (3, 1), (1, 0))[min(from_end, 2)]
    if extent <= most or (from_end == 0 and extent <= most + 2):
        return 0, extent
    return min(max(place - before, 0), extent - most), most


def numbers_of(
    spec: Spec,
    inputs: Inputs,
    expected: Expected,
    outputs: Mapping[str, Tensor],
    unwritten: Mapping[str, Tensor],
) -> Numbers:
    """Return the numbers of one call: around the first wrong element, or else around the first.

    An argument of at most MOST_WHOLE elements is there as a whole.
    """
    found = dict(mismatches(expected, outputs, unwritten))
    wrong = {
        name: _wrong(~right_of(expected, name, outputs[name]), each) for name, each in found.items()
    }
    # As the message names them: elements that were never written come before wrong values.
    named = {
        name: wrong[name] if each is None or each.marked is None else each.marked
        for name, each in found.items()
    }
    frame, first = _frame(spec, inputs, named)
    compared, met = [], nearest(expected, outputs)
    for name, marks in wrong.items():
        got = outputs[name]
        gaps = _gaps(got, unwritten.get(name), found[name])
        window = _window(name, got, frame, gaps)
        compared.append(_compared(window, got, met.outputs[name], marks, gaps))
    return Numbers(
        output=frame.output,
        shape=frame.shape,
        first=first,
        inputs=tuple(_of_inputs(spec, inputs, frame)),
        outputs=tuple(compared),
    )


def small_inputs(spec: Spec, inputs: Inputs) -> Numbers | None:
    """Return the inputs of a call that failed at an address, if they are small enough.

    Also returns None if no input holds integers, from which a kernel takes indices.
    """
    tensors = [value for value in inputs.values() if isinstance(value, Tensor)]
    if not any(is_whole(value.dtype) for value in tensors):
        return None
    if any(value.numel() > MOST_WHOLE for value in tensors):
        return None
    frame, _ = _frame(spec, inputs, {})
    return Numbers(
        output=frame.output,
        shape=frame.shape,
        first=None,
        inputs=tuple(_of_inputs(spec, inputs, frame)),
    )


def _wrong(beyond: Tensor, mismatch: Mismatch | None) -> Tensor:
    """Mark what is beyond its limit by itself, or wrong for another reason."""
    return beyond if mismatch is None or mismatch.marked is None else beyond | mismatch.marked


# -- places


def _frame(spec: Spec, inputs: Inputs, wrong: Mapping[str, Tensor]) -> tuple[_Frame, Shape | None]:
    """Choose the output with the most axes, and the place in it of the first wrong element.

    If only other outputs are wrong, it is the place along the axes that they share.
    """
    shapes = _shapes(spec, inputs)
    filled = [a.name for a in spec.arguments if a.filled]
    bad = [name for name in filled if name in wrong and bool(wrong[name].any())]
    output = max([*bad, *filled], key=lambda name: len(shapes[name]))
    axes = _axes(spec, inputs, output)
    frame = _Frame(output, shapes[output], (0,) * len(shapes[output]), axes)
    if not bad:
        return frame, None
    named = output if output in bad else bad[0]
    first = unravel_index(shapes[named], int(wrong[named].flatten().byte().argmax()))
    place = list(frame.place)
    for axis, at in zip(frame.running(named, shapes[named]), first, strict=True):
        if axis is not None:
            place[axis] = at
    return _Frame(output, frame.shape, tuple(place), axes), tuple(place)


def _axes(spec: Spec, inputs: Inputs, output: str) -> dict[str, Axes]:
    """Find for each argument the axes of the output with which its own axes run.

    Arguments of one case may have equal extents by chance, those of a case with distinct extents
    have not. A spec that cannot draw that case leaves only the chance.
    """
    shapes = _shapes(spec, inputs)
    probe = PROBE[: len(spec.largest)]
    if all(map(int.__le__, probe, spec.largest)):
        case = Case(probe, spec.dtypes[0], draw=spec.draws[0])
        with suppress(Exception):  # of the spec's own functions, and no reason to fail here
            shapes = _shapes(spec, spec.inputs(case, CaseDraw(case)))
    return {name: _matching(shape, shapes[output]) for name, shape in shapes.items()}


def _matching(shape: Shape, along: Shape) -> Axes:
    free, axes = list(range(len(along))), list[int | None]()
    for extent in shape:
        axis = next((axis for axis in free if along[axis] == extent), None)
        if axis is not None:
            free.remove(axis)
        axes.append(axis)
    return tuple(axes)


def _shapes(spec: Spec, inputs: Inputs) -> dict[str, Shape]:
    shapes = {name: tuple(v.shape) for name, v in inputs.items() if isinstance(v, Tensor)}
    for argument in spec.arguments:
        if argument.role == "out":
            shape = argument.shape_for(inputs)
            shapes[argument.name] = shapes[argument.like or ""] if shape is None else shape
    return shapes


# -- values


def _of_inputs(spec: Spec, inputs: Inputs, frame: _Frame) -> Iterator[Values]:
    for argument in spec.arguments:
        if argument.role == "out":
            continue
        value = inputs[argument.name]
        if isinstance(value, Tensor):
            yield _window(argument.name, value, frame)
        else:
            yield Values(
                argument=argument.name,
                dtype=argument.dtype or "float",
                shape=(),
                axes=(),
                start=(),
                window=(),
                values=(_number(value, argument.dtype == "bool"),),
            )


def _window(name: str, values: Tensor, frame: _Frame, gaps: Tensor | None = None) -> Values:
    shape = tuple(values.shape)
    spans = frame.spans(name, shape)
    numbers = _numbers(values, spans, values.dtype == torch.bool)
    if gaps is not None:
        missing = _cut(gaps, spans).flatten().tolist()
        numbers = tuple(None if gap else n for n, gap in zip(numbers, missing, strict=True))
    return Values(
        argument=name,
        dtype=NAMES[values.dtype],
        shape=shape,
        axes=frame.running(name, shape),
        start=tuple(start for start, _ in spans),
        window=tuple(length for _, length in spans),
        values=numbers,
    )


def _gaps(got: Tensor, unwritten: Tensor | None, mismatch: Mismatch | None) -> Tensor | None:
    """Mark what was never written: in a dtype without unused NaNs, bits alone do not say that."""
    if unwritten is None or has_unused_nan(got.dtype):
        return unwritten
    return mismatch.marked if mismatch is not None and mismatch.kind == "never_written" else None


def _compared(
    window: Values, got: Tensor, answer: Tensor, wrong: Tensor, gaps: Tensor | None
) -> Compared:
    spans = tuple(zip(window.start, window.window, strict=True))
    written = wrong if gaps is None else wrong & ~gaps
    error, at = _largest_error(widened(got), answer, written)
    return Compared(
        **dict(window),
        expected=_numbers(_as_written(answer, got.dtype), spans, window.dtype == "bool"),
        wrong=tuple(_cut(wrong, spans).flatten().tolist()),
        wrong_count=int(wrong.sum()),
        where=describe_where(wrong) if bool(wrong.any()) else None,
        largest_error=error,
        largest_at=at,
    )


def _as_written(answer: Tensor, dtype: torch.dtype) -> Tensor:
    return answer if is_whole(dtype) else rounded(answer, dtype)


def _largest_error(got: Tensor, answer: Tensor, wrong: Tensor) -> tuple[float | None, Shape | None]:
    error = (got.double() - answer.double()).abs()
    counted = wrong & error.isfinite()
    if not bool(counted.any()):
        return None, None
    flat = int(error.where(counted, -1.0).argmax())
    at = unravel_index(got.shape, flat)
    return float(error[at]), at


def _cut(values: Tensor, spans: Sequence[tuple[int, int]]) -> Tensor:
    return values[tuple(slice(start, start + length) for start, length in spans)]


def _numbers(values: Tensor, spans: Sequence[tuple[int, int]], truth: bool) -> tuple[Number, ...]:
    cut = widened(_cut(values, spans)).flatten().tolist()
    return tuple(_number(value, truth) for value in cut)


def _number(value: float, truth: bool) -> Number:
    """Return a value that JSON has; a bool tensor's byte other than 0 and 1 stays an integer."""
    if truth and value in (0, 1):
        return bool(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value
