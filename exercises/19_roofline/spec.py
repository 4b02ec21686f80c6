"""Roofline: a polynomial of any degree, limited by memory or by arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
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

# Draws are angles in units of so many radians. However near to each other the numbers of a draw
# lie, their angles make many turns.
TURNS = 1024.0


def inputs(case: Case, draw: Draw) -> Inputs:
    """Elements between -1 and 1, many of them near an end, and degree + 1 coefficients.

    The sine of a random angle lies near -1 or 1 more often than anywhere else: of 100, nine exceed
    0.99 in size. There the last coefficients count as much as the first. So no block can stop
    early, and as coefficients are drawn, no closed form is right. Whole numbers stay as they are:
    -1, 0 and 1.
    """
    n, degree = case.shape
    x = draw.tensor((n,), extreme=8.0)
    if case.draw != "integers":
        x.mul_(TURNS).sin_()
    return {"x": x, "c": draw.tensor((degree + 1,), extreme=LARGEST["float32"] / (2 * degree + 2))}


def _terms(inputs: Inputs) -> Tensor:
    """Return all c[i] * x**i; (n, degree + 1). Unlike Horner's rule, torch does them at once."""
    x, c = inputs["x"], inputs["c"]
    return c * x.unsqueeze(-1) ** (c.new_ones(c.shape).cumsum(0) - 1)


def reference(inputs: Inputs) -> Mapping[str, Tensor]:
    return {"out": _terms(inputs).sum(-1)}


def magnitude(inputs: Inputs, expected: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The sum of |c[i] * x**i|: terms may cancel, their rounding errors do not."""
    return {"out": _terms(inputs).abs().sum(-1)}


def memory_budget(case: Case) -> int:
    """Return one percent of the bytes of x, and at least 4 MiB: a case's shape has the degree."""
    return max(4 << 20, 4 * case.shape[0] // 100)


def _with(change: Callable[[Tensor], Tensor], inputs: Inputs) -> Mapping[str, Tensor]:
    """Return the polynomial with other coefficients."""
    return reference({**inputs, "c": change(inputs["c"])})


def _without_last(c: Tensor) -> Tensor:
    return c * (c.new_ones(c.shape).cumsum(0) < len(c))


def _without_first(c: Tensor) -> Tensor:
    return c * (c.new_ones(c.shape).cumsum(0) > 1)


def _after_product(inputs: Inputs) -> Mapping[str, Tensor]:
    """Add the coefficient first and multiply by x then: all powers are one too high."""
    return {"out": reference(inputs)["out"] * inputs["x"]}


LOOP = (r"\brange\(", r"\bwhile ")
MISTAKES = (
    Mistake(
        cause="formula",
        hint="The coefficients are taken in ascending order: the constant gets the highest power. "
        "Horner's rule begins with the last one, c[degree].",
        reference=partial(_with, lambda c: c.flip(0)),
        near=LOOP,
    ),
    Mistake(
        cause="off_by_one",
        hint="The last coefficient is missing: there are degree + 1, from c[0] to c[degree].",
        reference=partial(_with, _without_last),
        near=LOOP,
    ),
    Mistake(
        cause="off_by_one",
        hint="The constant is missing: c[0] is the last one that Horner's rule adds.",
        reference=partial(_with, _without_first),
        near=LOOP,
    ),
    Mistake(
        cause="off_by_one",
        hint="The first coefficient is left out and each other has a power that is one too low: "
        "the loop ends before c[0].",
        reference=partial(_with, lambda c: _without_last(c.roll(-1))),
        near=LOOP,
    ),
    Mistake(
        cause="formula",
        hint="Each power is one too high: multiply by x before a coefficient is added, and not "
        "after it.",
        reference=_after_product,
        near=(r"\* x", r"\*= ?x"),
    ),
)


SPEC = Spec(
    title="Roofline",
    summary="A polynomial of any degree: find out whether memory or arithmetic limits a kernel.",
    needs=("01_vector_add", "t05_block_loop"),
    backend="triton",
    entry="polynomial",
    arguments=(reads("x"), reads("c", at_most=None), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows", "ties", "constant", "extremes", "denormals", "integers"),
    # The shape is that of x, and the degree.
    edges=(
        Case((1, 1), "float32"),
        Case((2, 2), "float32", draw="integers"),
        Case((3, 1), "float32", draw="extremes", offset=1),
        Case((13, 3), "float32", draw="denormals"),
        Case((127, 7), "float32", draw="ties"),
        Case((128, 8), "float32", draw="extremes"),
        Case((129, 9), "float32", offset=1),
        Case((1023, 15), "float32", draw="denormals"),
        Case((1024, 16), "float32", draw="ties"),
        Case((1025, 17), "float32", draw="constant"),
        Case((2048, 4), "float32"),
        Case((2049, 5), "float32", draw="integers", offset=1),
        Case((4099, 33), "float32", draw="extremes"),
        Case((613, 64), "float32", draw="constant"),
        Case((5003, 65), "float32"),
        Case((1021, 1024), "float32"),
        Case((300, 1025), "float32", draw="integers"),
        Case((65_537, 4), "float32", offset=1),
        Case((2**18 - 1, 3), "float32", draw="ties"),
    ),
    largest=(2**18 - 1, 200),
    most_elements=2**18,
    inputs=inputs,
    reference=reference,
    tolerance=Tolerance(
        terms=lambda case: case.shape[1] + 1, magnitude=magnitude, exact=("integers",)
    ),
    pictured=Case((2060, 2), "float32", draw="integers"),
    counted=Case((5003, 4), "float32"),
    memory_budget=memory_budget,
    scored=Scored(dtype="float32", columns=4, bound="roofline"),
    also_scored=(
        Scored(
            dtype="float32",
            columns=64,
            bound="roofline",
            gates=Gates(passing=0.60, great=0.75),
        ),
        Scored(
            dtype="float32",
            columns=1024,
            bound="roofline",
            gates=Gates(passing=0.80, great=0.95),
        ),
    ),
    # Horner's rule: a multiplication and an addition for each element and degree.
    flops=lambda case: 2 * case.shape[0] * case.shape[1],
    # Of degree 4 memory is the limit, as for a copy; at 64 both roofs are near; at 1,024 arithmetic
    # is the limit, and torch's matrix product the measure.
    gates=Gates(passing=0.80, great=0.95),
    hints=(
        "Horner's rule: a + b x + c x² = a + x (b + x c). Begin with the last coefficient. Each "
        "turn multiplies the total by x, and adds the coefficient before.",
        "A scalar load `tl.load(c_ptr + i)` is one number, which Triton spreads over the block: "
        "the loop has one load, one product and one sum, and x stays in registers.",
        "`range(a, b, step)` works with a negative step, and b is left out, as in Python: the "
        "turn for c[0] must come, too.",
        "A thread with one element waits four cycles for each multiply-add. Let BLOCK give each "
        "of 128 threads eight elements or more: their chains do not wait for each other, and share "
        "the load of the coefficient.",
        "What a turn does besides multiply-adds is its load, the address, a comparison and a "
        "branch. `tl.range(..., loop_unroll_factor=8)` in place of `range(...)` shares the last "
        "three among eight turns.",
    ),
    mistakes=MISTAKES,
)
