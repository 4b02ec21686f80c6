"""The numbers of one argument as text, with marks around what is wrong.

The marks are characters, because a report may be without colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from grader.model import Compared, Number, Numbers, Values, texts

DIGITS, MOST_DIGITS = 4, 9  # of a float; more where yours and expected would look the same
UNWRITTEN = "unset"

Place = tuple[int, ...]
Cells = dict[Place, str]  # by the index in the whole argument


@dataclass(frozen=True)
class Rows:
    """Values of one argument as text, each with a blank or a mark on both sides."""

    of: Values
    suffix: str
    cells: Cells

    @property
    def alone(self) -> bool:
        return all(extent == 1 for extent in self.of.shape) and set(self.of.axes) <= {None}

    @property
    def aligned(self) -> bool:
        """Say whether each axis runs with the output, or has one element only."""
        pairs = zip(self.of.axes, self.of.shape, strict=True)
        return all(axis is not None or n == 1 for axis, n in pairs)

    def place(self, at: Mapping[int, int]) -> Place:
        """Return the index of the element at this place of the output."""
        return tuple(0 if axis is None else at[axis] for axis in self.of.axes)

    def label(self, index: Sequence[str]) -> str:
        """Name the elements of an index, in which a colon stands for a whole axis."""
        parts = list(index)
        while parts and parts[-1] == ":":
            parts.pop()
        place = f"[{', '.join(parts)}]" if parts else ""
        return f"{texts.one_line(self.of.argument, 80)}{place}{self.suffix}"


def rows_of(numbers: Numbers) -> Iterator[Rows]:
    """Yield the inputs, then the kernel's values of each output and the expected ones."""
    for values in numbers.inputs:
        yield _row_of_input(values, numbers)
    for output in numbers.outputs:
        yield from _rows_of_output(output)


def number_text(value: Number, dtype: str, digits: int = DIGITS) -> str:
    match value:
        case None:
            return UNWRITTEN
        case bool() | str():
            return str(value)
        case int():
            return f"byte {value}" if dtype == "bool" else str(value)
    if value.is_integer() and abs(value) < 1e7:
        return str(int(value))
    return f"{value:.{digits}g}"


def _row_of_input(values: Values, numbers: Numbers) -> Rows:
    overwritten = any(output.argument == values.argument for output in numbers.outputs)
    shown = [number_text(value, values.dtype) for value in values.values]
    return Rows(values, ", before" if overwritten else "", _cells(values, shown))


def _rows_of_output(output: Compared) -> Iterator[Rows]:
    digits = _digits(output)
    got = [number_text(value, output.dtype, digits) for value in output.values]
    expected = [number_text(value, output.dtype, digits) for value in output.expected]
    yield Rows(output, ", yours", _cells(output, got, output.wrong))
    yield Rows(output, ", expected", _cells(output, expected))


def _digits(output: Compared) -> int:
    """Return how many digits tell each wrong value from the expected one."""
    compared = zip(output.values, output.expected, output.wrong, strict=True)
    wrong = [(got, expected) for got, expected, bad in compared if bad]
    for digits in range(DIGITS, MOST_DIGITS):
        pairs = ([number_text(value, output.dtype, digits) for value in pair] for pair in wrong)
        if all(got != expected for got, expected in pairs):
            return digits
    return MOST_DIGITS


def _cells(values: Values, shown: Sequence[str], wrong: Sequence[bool] = ()) -> Cells:
    marked = [f"»{text}«" if bad else f" {text} " for text, bad in zip(shown, wrong, strict=False)]
    ranges = map(place_range, values.start, values.window)
    return dict(zip(product(*ranges), marked or [f" {text} " for text in shown], strict=True))


def place_range(start: int, length: int) -> range:
    return range(start, start + length)
