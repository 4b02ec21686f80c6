"""A kernel's contract as `grader show` prints it: its arguments, and the least traffic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from grader.grading.kind import Sections
from grader.model import ITEMSIZE, Argument, Case, Inputs, Spec, how_often

_ROLES = {
    "in": "read, must not change",
    "out": "filled by the kernel",
    "inout": "read and overwritten",
    "scalar": "a Python number",
}
SEED = "the seed of the kernel's random numbers"


def sections(spec: Spec) -> Sections:
    """Yield the contract. Imports torch: the sizes of a sample case follow from its inputs."""
    case = spec.sample_case
    yield f"entry  {spec.signature}", _arguments(spec)
    sizes = tensor_bytes(spec, case)
    yield "least traffic", _traffic(spec, sizes, needed_bytes(spec, case, sizes), case)


def _arguments(spec: Spec) -> Iterator[tuple[str, str]]:
    for argument in spec.arguments:
        shape = f", shape {argument.shape}" if argument.shape else ""
        if callable(argument.shape):
            shape = ", of a shape that follows from the inputs'"
        what = "dtype" if argument.shape else "shape"
        like = f", {what} of {argument.like}" if argument.like else ""
        dtype = f", {argument.dtype}" if argument.dtype else ""
        role = SEED if argument.seeds else _ROLES[argument.role]
        yield argument.name, f"{role}{shape}{like}{dtype}"
    yield "dtypes", ", ".join(spec.dtypes)
    if spec.strided:
        yield "rows", "may lie further apart than they are long: use the strides"


def _traffic(
    spec: Spec, sizes: Mapping[str, int], needed: Mapping[str, int], case: Case
) -> Iterator[tuple[str, str]]:
    for argument in spec.arguments:
        if argument.role != "scalar":
            size = f"{sizes[argument.name]:,} bytes"
            some = f"{needed[argument.name]:,} of " if argument.needed else ""
            asked = ", as the inputs ask" if argument.needed else ""
            yield argument.name, f"{_moves(argument)}, {some}{size}{asked}"
    read, written = spec.least_bytes(needed)
    # An extent of the case need be none of a tensor: a degree, or one axis of a product.
    elements = min(case.elements, max(sizes.values()) // ITEMSIZE[case.dtype])
    each = (read + written) / elements
    yield (
        "total",
        (f"{read:,} bytes read + {written:,} written for {case.headline}: {each:.2f} per element"),
    )


def _moves(argument: Argument) -> str:
    moves = (("read", argument.reads), ("written", argument.writes))
    return (
        " and ".join(f"{word} {how_often(number)}" for word, number in moves if number)
        or "not moved"
    )


def needed_bytes(spec: Spec, case: Case, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the bytes of one pass over what the inputs of a case ask for. Imports torch."""
    return spec.needed_bytes(_inputs(spec, case), sizes)


def tensor_bytes(spec: Spec, case: Case) -> dict[str, int]:
    """Return the bytes of each tensor of a case. Imports torch, to draw the inputs."""
    from grader.correctness import NAMES

    shapes: dict[str, tuple[tuple[int, ...], str]] = {}
    inputs = _inputs(spec, case)
    for name, value in inputs.items():
        if not isinstance(value, float | int):
            shapes[name] = (tuple(value.shape), NAMES[value.dtype])
    for argument in spec.arguments:
        if argument.role == "out":
            shape, dtype = shapes.get(argument.like or "", ((), case.dtype))
            own = argument.shape_for(inputs)
            shapes[argument.name] = (shape if own is None else own, argument.dtype or dtype)
    return {name: math.prod(shape) * ITEMSIZE[dtype] for name, (shape, dtype) in shapes.items()}


def _inputs(spec: Spec, case: Case) -> Inputs:
    from grader.correctness import CaseDraw
    from grader.grading.trials import trusted
    from grader.sandbox import check_inputs

    inputs = trusted(lambda: spec.inputs(case, CaseDraw(case)), "drawing the inputs", case)
    check_inputs(spec, inputs)
    return inputs
