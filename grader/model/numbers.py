"""The numbers of a failing case: inputs, the kernel's outputs, and the expected ones.

A record holds a window of each argument, so that a result stays small whatever the case is.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from grader.model.record import Record

MOST_WHOLE = 8  # elements of an argument that is always shown whole
MOST_VALUES = 30  # elements of a window
MOST_AXES = 16

Special = Literal["nan", "inf", "-inf"]  # JSON has no numbers for them
Number = bool | int | float | Special | None
Extent = Annotated[int, Field(ge=0)]
Index = Annotated[tuple[Extent, ...], Field(max_length=MOST_AXES)]
Row = Annotated[tuple[Number, ...], Field(max_length=MOST_VALUES)]


class Values(Record):
    """A window of one argument: a block of its elements, or all of them.

    `axes` names, for each axis of the argument, the axis of the output `Numbers.output` with which
    it runs, or null. A window covers the same places of all arguments along such an axis.
    """

    argument: str
    dtype: str = Field(description="of a scalar the type of the Python number")
    shape: Index = Field(description="of the whole argument; empty for a scalar")
    axes: Annotated[tuple[Extent | None, ...], Field(max_length=MOST_AXES)]
    start: Index = Field(description="index of the window's first element")
    window: Index = Field(description="shape of the window")
    values: Row = Field(
        description="in C order; `nan`, `inf` and `-inf` are texts, and null was never written"
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        ends = [(s, w, n) for s, w, n in zip(self.start, self.window, self.shape, strict=False)]
        same = len(self.shape) == len(self.axes) == len(self.start) == len(self.window)
        if not same or any(s + w > n for s, w, n in ends):
            raise ValueError("a window reaches beyond its argument")
        if len(self.values) != prod(self.window):
            raise ValueError("a window has as many values as elements")
        return self


class Compared(Values):
    """A window of one output: `values` are the kernel's, `expected` the reference's."""

    expected: Row = Field(description="in C order, rounded to the dtype of the output")
    wrong: Annotated[tuple[bool, ...], Field(max_length=MOST_VALUES)]
    wrong_count: int = Field(description="wrong elements of the whole output")
    where: str | None = Field(description="which elements are wrong, in words; null: none")
    largest_error: float | None = Field(description="of the wrong elements; null: none is finite")
    largest_at: Index | None = Field(description="index of that element")

    @model_validator(mode="after")
    def _is_compared(self) -> Self:
        if not len(self.values) == len(self.expected) == len(self.wrong):
            raise ValueError("each value is compared with one expected value")
        return self


class Numbers(Record):
    """The numbers around the first wrong element of a failing case.

    `outputs` is empty where the call failed. Then an inout argument is among the inputs alone.
    """

    output: str = Field(description="the output with which the axes of all arguments run")
    shape: Index = Field(description="of that output")
    first: Index | None = Field(
        description="index in it of the first element that is wrong as the message says"
    )
    inputs: tuple[Values, ...]
    outputs: tuple[Compared, ...] = ()

    @model_validator(mode="after")
    def _runs(self) -> Self:
        axes = [axis for each in (*self.inputs, *self.outputs) for axis in each.axes]
        if any(axis is not None and axis >= len(self.shape) for axis in axes):
            raise ValueError("an axis runs with one that the output lacks")
        if self.first is not None and len(self.first) != len(self.shape):
            raise ValueError("the first wrong element lies in the output")
        return self
