"""The numbers of a failing case as lines of text, with each wrong element in marks.

Inputs come first, then the kernel's values, and below them the expected ones. All arguments that
run along one axis of the output share the columns of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product, repeat
from math import prod

from rich.text import Text

from grader.model import Compared, Number, Numbers, Values
from grader.reports.layout import DETAIL, filled

MOST_LINES = 14  # without those that count what is wrong
DIGITS, MOST_DIGITS = 4, 9  # of a float; more where yours and expected would look the same
UNWRITTEN = "unset"

Place = tuple[int, ...]
Cells = dict[Place, str]  # by the index in the whole argument


@dataclass(frozen=True)
class _Rows:
    """Values of one argument as text, each with a blank or a mark on both sides."""

    of: Values
    suffix: str
    cells: Cells

    def label(self, index: Sequence[str]) -> str:
        """Name the elements of an index, in which a colon stands for a whole axis."""
        parts = list(index)
        while parts and parts[-1] == ":":
            parts.pop()
        place = f"[{', '.join(parts)}]" if parts else ""
        return f"{self.of.argument}{place}{self.suffix}"


@dataclass(frozen=True)
class _Line:
    label: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class _Table:
    """Lines whose cells lie along one axis of the output, in groups along its other axes."""

    axis: int
    places: range  # along the axis
    above: tuple[_Line, ...]  # of inputs that have no other axis
    groups: dict[Place, tuple[str | _Line, ...]]
    below: tuple[_Line, ...]  # of outputs that have no other axis

    def lines(self, groups: Iterable[Place]) -> list[str | _Line]:
        inside = (line for group in groups for line in self.groups[group])
        return [*self.above, *inside, *self.below]

    @property
    def indent(self) -> int:
        lines = (line for line in self.lines(self.groups) if isinstance(line, _Line))
        return max([len(line.label) for line in lines] + [len("element")])

    @property
    def widths(self) -> dict[int, int]:
        """The width of the column at each place."""
        lines = [line.cells for line in self.lines(self.groups) if isinstance(line, _Line)]
        columns = zip(*lines, strict=True) if lines else repeat((), len(self.places))
        return {
            place: 1 + max(map(len, [f" {place} ", *cells]))
            for place, cells in zip(self.places, columns, strict=True)
        }


def number_rows(numbers: Numbers, width: int) -> Text:
    """Return the lines for a terminal, where what is wrong is red as well."""
    wide = width - len(DETAIL)
    lines = (
        filled(line, width, DETAIL) if len(line) > wide else f"{DETAIL}{line}\n"
        for line in number_lines(numbers, wide)
    )
    rows = Text("".join(lines))
    rows.highlight_regex("»[^«]*«", "red")
    return rows


def number_lines(numbers: Numbers, width: int) -> list[str]:
    """Return at most MOST_LINES lines of numbers, and one for each output that is not whole."""
    rows = [each for values in numbers.inputs for each in _rows_of_input(values, numbers)]
    rows += [each for output in numbers.outputs for each in _rows_of_output(output)]
    head = [_scalars(rows)] if any(not row.of.shape for row in rows) else []
    head += _unaligned([row for row in rows if None in row.of.axes], width)
    aligned = [row for row in rows if row.of.axes and None not in row.of.axes]
    body = _fitted(numbers, aligned, width, MOST_LINES - len(head)) if aligned else []
    return [line.rstrip() for line in (*head, *body, *_summaries(numbers))]


# -- numbers as text


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


def _rows_of_input(values: Values, numbers: Numbers) -> Iterator[_Rows]:
    overwritten = any(output.argument == values.argument for output in numbers.outputs)
    texts = [number_text(value, values.dtype) for value in values.values]
    yield _Rows(values, ", before" if overwritten else "", _cells(values, texts))


def _rows_of_output(output: Compared) -> Iterator[_Rows]:
    digits = _digits(output)
    got = [number_text(value, output.dtype, digits) for value in output.values]
    expected = [number_text(value, output.dtype, digits) for value in output.expected]
    yield _Rows(output, ", yours", _cells(output, got, output.wrong))
    yield _Rows(output, ", expected", _cells(output, expected))


def _digits(output: Compared) -> int:
    """Return how many digits tell each wrong value from the expected one."""
    compared = zip(output.values, output.expected, output.wrong, strict=True)
    wrong = [(got, expected) for got, expected, bad in compared if bad]
    for digits in range(DIGITS, MOST_DIGITS):
        texts = ([number_text(value, output.dtype, digits) for value in pair] for pair in wrong)
        if all(got != expected for got, expected in texts):
            return digits
    return MOST_DIGITS


def _cells(values: Values, texts: Sequence[str], wrong: Sequence[bool] = ()) -> Cells:
    marked = [f"»{text}«" if bad else f" {text} " for text, bad in zip(texts, wrong, strict=False)]
    ranges = map(_range, values.start, values.window)
    return dict(zip(product(*ranges), marked or [f" {text} " for text in texts], strict=True))


def _range(start: int, length: int) -> range:
    return range(start, start + length)


# -- arguments that do not run with the output


def _scalars(rows: Sequence[_Rows]) -> str:
    scalars = (row for row in rows if not row.of.shape)
    return "   ".join(f"{row.label(())} = {row.cells[()].strip()}" for row in scalars)


def _unaligned(rows: Sequence[_Rows], width: int) -> list[str]:
    """Write each row of these arguments on a line of its own, as far as it fits."""
    lines = [line for row in rows for line in _unaligned_lines(row)]
    indent = max((len(line.label) for line, _ in lines), default=0)
    cell = 1 + max((len(text) for line, _ in lines for text in line.cells), default=0)
    fits = max((width - indent - len(" …")) // cell, 1)
    written = []
    for line, more in lines:
        cells = "".join(f"{text:>{cell}}" for text in line.cells[:fits])
        written.append(f"{line.label:<{indent}}{cells}{' …' * (more or len(line.cells) > fits)}")
    return written


def _unaligned_lines(row: _Rows) -> Iterator[tuple[_Line, bool]]:
    """Yield lines, and whether each has more elements than the window shows."""
    *outer, inner = map(_range, row.of.start, row.of.window)
    for place in product(*outer):
        index = [*map(str, place), f"{inner.start}:{inner.stop}" if inner.start else ":"]
        cells = tuple(row.cells[(*place, i)] for i in inner)
        yield _Line(row.label(index), cells), inner.stop < row.of.shape[-1]


# -- arguments that run with the output


def _fitted(numbers: Numbers, rows: Sequence[_Rows], width: int, most: int) -> list[str]:
    """Write the table in pieces of `width`, with the first wrong element if not all of them fit."""
    axes = range(len(numbers.shape))
    tables = (_table(numbers, rows, axis) for axis in _choices(axes))
    table = min(tables, key=lambda table: len(table.lines(table.groups)))
    place = numbers.first or (0,) * len(numbers.shape)
    pieces = _pieces(table, width, place)
    whole = len(table.places) == numbers.shape[table.axis]
    height = 1 + len(table.lines(table.groups))
    if not whole or height * len(pieces) > most:
        pieces = [next((p for p in pieces if place[table.axis] in p), pieces[0])]
    groups = _nearest_groups(table, place, most // len(pieces))
    lines = [line for piece in pieces for line in _written(numbers, table, piece, groups)]
    if whole and (len(groups) < len(table.groups) or sum(map(len, pieces)) < len(table.places)):
        lines.append("… `--json` prints all of them")
    return lines


def _pieces(table: _Table, width: int, place: Place) -> list[range]:
    """Divide the places into ranges whose columns fit; the first of a window has the wrong one."""
    widths, left = table.widths, width - table.indent - len(" …")
    pieces = []
    start, used = table.places.start, 0
    for at in table.places:
        if used + widths[at] > left and at > start:
            pieces.append(range(start, at))
            start, used = at, 0
        used += widths[at]
    return [*pieces, range(start, table.places.stop)]


def _choices(axes: range) -> Sequence[int]:
    """Return the axes that may run across: the last one, or either one of a matrix."""
    return tuple(reversed(axes)) if len(axes) == 2 else (axes[-1],)


def _table(numbers: Numbers, rows: Sequence[_Rows], axis: int) -> _Table:
    spans = {other: _span(rows, other) for other in range(len(numbers.shape))}
    others = [other for other in spans if other != axis]
    across = [(row, _line(row, axis, spans[axis], {})) for row in rows if row.of.axes == (axis,)]
    groups = {}
    for group in product(*(spans[other] for other in others)):
        at = dict(zip(others, group, strict=True))
        groups[group] = tuple(_group(rows, axis, spans[axis], at))
    return _Table(
        axis,
        spans[axis],
        above=tuple(line for row, line in across if not isinstance(row.of, Compared)),
        groups=groups,
        below=tuple(line for row, line in across if isinstance(row.of, Compared)),
    )


def _span(rows: Sequence[_Rows], axis: int) -> range:
    """Return the places along an axis of the output that any argument shows."""
    ranges = [
        _range(row.of.start[own], row.of.window[own])
        for row in rows
        for own, other in enumerate(row.of.axes)
        if other == axis
    ]
    if not ranges:
        return range(1)
    return range(min(r.start for r in ranges), max(r.stop for r in ranges))


def _group(
    rows: Sequence[_Rows], axis: int, places: range, at: dict[int, int]
) -> Iterator[str | _Line]:
    single = [row for row in rows if axis not in row.of.axes]
    if single:
        yield "   ".join(filter(None, (_single(row, at) for row in single)))
    for row in rows:
        if axis in row.of.axes and len(row.of.axes) > 1:
            yield _line(row, axis, places, at)


def _single(row: _Rows, at: dict[int, int]) -> str:
    place = tuple(at[other] for other in row.of.axes if other is not None)
    cell = row.cells.get(place, "").strip()
    return f"{row.label(list(map(str, place)))} = {cell}" if cell else ""


def _line(row: _Rows, axis: int, places: range, at: dict[int, int]) -> _Line:
    label = row.label([":" if other == axis else str(at[other or 0]) for other in row.of.axes])
    indices = (tuple((at | {axis: i})[other or 0] for other in row.of.axes) for i in places)
    return _Line(label, tuple(row.cells.get(index, "") for index in indices))


def _nearest_groups(table: _Table, place: Place, most: int) -> list[Place]:
    """Return the groups that fit into so many lines: the wrong one, then those nearest to it."""
    wrong = tuple(at for axis, at in enumerate(place) if axis != table.axis)
    by_distance = sorted(
        table.groups, key=lambda g: [abs(a - b) for a, b in zip(g, wrong, strict=True)]
    )
    left, kept = most - 1 - len(table.above) - len(table.below), list[Place]()
    for group in by_distance:
        left -= len(table.groups[group])
        if left < 0 and kept:
            break
        kept.append(group)
    return sorted(kept)


def _written(
    numbers: Numbers, table: _Table, piece: range, groups: Sequence[Place]
) -> Iterator[str]:
    axes, extent = len(numbers.shape), numbers.shape[table.axis]
    noun = "element" if axes == 1 else "row" if axes == 2 and table.axis == 0 else "column"
    indent, widths = table.indent, table.widths

    def joined(label: str, cells: Sequence[str]) -> str:
        columns = zip(cells, piece, strict=True)
        return f"{label:<{indent}}" + "".join(f"{text:>{widths[at]}}" for text, at in columns)

    if extent > 1:
        before = " …" if piece.start else ""
        after = " …" if piece.stop < extent else ""
        yield joined(f"{noun}{before}", [f" {at} " for at in piece]) + after
    for line in table.lines(groups):
        if isinstance(line, str):
            yield line
        else:
            first = table.places.start
            yield joined(line.label, line.cells[piece.start - first : piece.stop - first])


# -- what no window shows


def _summaries(numbers: Numbers) -> Iterator[str]:
    for output in numbers.outputs:
        total = prod(output.shape)
        if output.wrong_count and len(output.values) < total:
            line = f"{output.argument}: {output.wrong_count:,} of {total:,} wrong ({output.where})"
            if output.largest_error is not None and output.largest_at is not None:
                place = ", ".join(map(str, output.largest_at))
                line += f", largest error {output.largest_error:.3g} at [{place}]"
            yield line
