"""A row on the chip: softmax of rows longer than a block holds, with each element read once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.spec import (
    LARGEST,
    Case,
    Draw,
    Gates,
    Inputs,
    Mistake,
    Scored,
    Spec,
    Tolerance,
    reads,
    writes,
)

if TYPE_CHECKING:
    from torch import Tensor

BLOCK = 8192  # columns of a part, in the stub and in the solution


def inputs(case: Case, draw: Draw) -> Inputs:
    # Half of the largest, so that x - max stays a float32 however far apart the two are.
    return {"x": draw.tensor(case.shape, extreme=LARGEST[case.dtype] / 2)}


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": inputs["x"].softmax(-1)}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """y * (2 + max - x): each of x - part's max and part's max - max is rounded, by one part in
    2**24, and exp passes both errors on. The sum and the division add a few parts more."""
    x = inputs["x"].double()
    return {"out": expected["out"] * (2 + (x.amax(-1, keepdim=True) - x))}


def _parts(x: Tensor) -> tuple[Tensor, ...]:
    return x.float().split(BLOCK, -1)


def _high(x: Tensor) -> Tensor:
    return x.amax(-1, keepdim=True)


def _total(x: Tensor) -> Tensor:
    return (x - _high(x)).exp().sum(-1, keepdim=True)


def _each_part_alone(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": _joined([part.softmax(-1) for part in _parts(inputs["x"])])}


def _joined(parts: list[Tensor]) -> Tensor:
    import torch

    return torch.cat(parts, -1)


def _sums_as_they_are(inputs: Inputs) -> Mapping[str, Tensor]:
    """Add up the parts' sums without bringing them to one maximum."""
    x = inputs["x"].float()
    total = sum(_total(part) for part in _parts(x))
    return {"out": (x - _high(x)).exp() / total}


def _own_powers(inputs: Inputs) -> Mapping[str, Tensor]:
    """Divide powers of the part's own maximum by the sum for the row's."""
    x = inputs["x"].float()
    total = _total(x)
    return {"out": _joined([(part - _high(part)).exp() / total for part in _parts(x)])}


NEAR_SUM = (r"tl\.sum\(\w*sums", r"tl\.sum\(")
MISTAKES = (
    Mistake(
        cause="formula",
        hint="Each part is a softmax of its own: its sum is never joined with those of the row's "
        "other parts.",
        reference=_each_part_alone,
        near=(r"/ *\w*total", r"store\(out", r"store\("),
    ),
    Mistake(
        cause="rescale",
        hint="The sums of the parts are added as they are. Each is right for its own part's "
        "maximum: multiply it by exp(part's maximum - row's maximum) first.",
        reference=_sums_as_they_are,
        near=NEAR_SUM,
    ),
    Mistake(
        cause="rescale",
        hint="The sum is that of the row, and the powers are still those of the part's own "
        "maximum: multiply them by exp(part's maximum - row's maximum), too.",
        reference=_own_powers,
        near=(r"/ *tl\.sum\(", r"/ *\w*total", r"store\(out", r"store\("),
    ),
    Mistake(
        cause="factor",
        hint="The exponentials are right and their sum is missing: each is divided by the sum of "
        "its row.",
        reference=lambda inputs: {"out": (inputs["x"] - _high(inputs["x"])).exp()},
        near=(r"store\(out", r"exp\("),
    ),
)


SPEC = Spec(
    title="A row on the chip",
    summary="Softmax of a row that no single block holds, with each element read once.",
    needs=("04_online_softmax", "12_fused_mse"),
    backend="triton",
    entry="softmax",
    arguments=(reads("x"), writes("out", like="x")),
    dtypes=("float32", "float16", "bfloat16"),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers", "sunken"),
    strided=True,
    edges=(
        Case((1, 1), "float32"),
        Case((2, 3), "float16"),
        Case((3, 2), "bfloat16", pad=3),
        Case((2, 127), "float16", draw="ties"),
        Case((3, 128), "float32", draw="ties"),
        Case((3, 129), "bfloat16", draw="extremes", offset=1),
        Case((2, 1023), "float16", draw="sunken"),
        Case((1, 1024), "float32", draw="denormals"),
        Case((5, 613), "float32", draw="constant", offset=1),
        Case((4, 1025), "bfloat16", pad=3),
        Case((300, 211), "float32", draw="constant", pad=1),
        Case((4_097, 67), "float16", pad=5),
        Case((1, 8191), "float32", draw="ties"),
        Case((3, 8192), "bfloat16", draw="integers"),
        Case((2, 8193), "float32", draw="sunken", pad=1),
        Case((3, 8194), "float16", draw="denormals", offset=1),
        Case((2, 10_007), "float32", draw="extremes"),
        Case((5, 16_384), "float16", draw="ties", pad=5),
        Case((3, 16_385), "bfloat16", draw="sunken"),
        Case((4, 20_011), "float32"),
        Case((2, 24_577), "float16", draw="integers", pad=3),
        Case((3, 32_771), "bfloat16", draw="denormals"),
        Case((2, 65_536), "float16", draw="extremes"),
        Case((3, 65_537), "float32", draw="extremes", pad=1, offset=1),
        Case((2, 100_003), "float32", draw="ties"),
        Case((2, 131_072), "float32", pad=8),
        Case((3, 131_072), "bfloat16"),
    ),
    # More rows than a grid has programs along y.
    launched=Case((65_537, 3), "float32"),
    largest=(300, 131_072),
    most_elements=2**19,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(terms=lambda case: case.shape[-1], magnitude=magnitude),
    pictured=Case((1, 8196), "float32", draw="integers"),
    counted=Case((2, 32_771), "float32", pad=3),
    scored=Scored(dtype="float32", columns=65_536, capability=90),
    also_scored=(Scored(dtype="float32", columns=131_072, capability=90),),
    # Per element: maximum, subtraction, exp, addition to the sum, and a product and a division that
    # bring it to the row's maximum and sum.
    flops=lambda case: 6 * case.elements,
    gates=Gates(passing=0.85, great=0.95),
    hints=(
        "Cut each row into parts of BLOCK columns, and give each part a program. It loads its part "
        "once, and has a maximum and a sum of its own, as for a short row. Nothing has to leave "
        "its registers but these two numbers.",
        "Let programs exchange these numbers through memory. Each has a place for its maximum and "
        "one for its sum. It fills both, and then counts itself with `tl.atomic_add`. When the "
        "row's count has reached the number of its parts, all places are filled.",
        "To wait, look at the count again and again: an atomic addition of 0 returns it. Count "
        'with `sem="release"`, and look with `sem="acquire"`: only then do loads that come after '
        "the look see stores that came before the count.",
        "A program may wait only for programs that have begun. The grid's order of starts is not "
        "promised, so let each program draw a ticket when it begins: it adds 1 to a counter, and "
        "the old value says which row and which part are its own.",
        "The row's maximum is that of the parts' maxima. Multiply each part's sum by exp(part's "
        "maximum - row's maximum) before you add the sums up. Your own powers need this factor, "
        "too.",
    ),
    mistakes=MISTAKES,
)
